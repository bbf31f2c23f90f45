package payment

import (
	"fmt"

	"payledger/domain"
	"payledger/domain/processor"
)

// Refund is the command to return captured money (D10).
type Refund struct {
	Request
	Amount             *domain.Amount // nil: the refundable amount, of the capture if one is named
	OrderID            string
	Reason             string
	TransactionEventID string // of the capture; "" for any
	Metadata           domain.Metadata
}

const refundModel = "PaymentRefund"

// DecideRefund returns RefundRequested, or RefundRefused above the refundable amount and if nothing is left (D7).
func DecideRefund(s State, c Refund) (Event, error) {
	if err := s.checkRequest(c.Request); err != nil {
		return nil, err
	}
	if _, busy := s.blockingOperation(); busy {
		return nil, ErrRunning
	}
	switch s.Status() {
	case StatusSettled, StatusPartiallySettled, StatusSettling:
	default:
		return nil, s.notIn("refunded")
	}
	if err := s.withinLimit(); err != nil {
		return nil, err
	}
	left, capture := s.Refundable(), uint64(0)
	if c.TransactionEventID != "" {
		op, found := s.captureOf(c.TransactionEventID)
		if !found {
			return nil, domain.InvalidAt(refundModel, "$.transactionEventId", "must be the transactionEventId of a capture of this payment")
		}
		left, capture = s.refundableOf(op), op.Revision
	}
	return s.refund(c, left, capture)
}

// refund decides a refund; left is the refundable amount.
func (s State) refund(c Refund, left domain.Amount, capture uint64) (Event, error) {
	amount := left
	if c.Amount != nil {
		amount = *c.Amount
	}
	if c.Amount != nil && amount < 1 {
		return nil, domain.InvalidAt(refundModel, "$.amount", "must be at least 1 minor unit")
	}
	if amount > left || left == 0 {
		refused := RefundRefused{
			At: c.At, EventID: c.EventID, Amount: amount, Capture: capture, Nothing: left == 0,
			KeyHash: c.keyHash(s),
			Message: fmt.Sprintf("%s is left to refund; %s was requested.", left.Format(s.Currency), amount.Format(s.Currency)),
		}
		if refused.Nothing {
			refused.Message = "Nothing is left to refund."
		}
		return refused, nil
	}
	if err := s.merged(refundModel, c.Metadata); err != nil {
		return nil, err
	}
	return RefundRequested{
		At: c.At, Amount: amount, Capture: capture, OrderID: c.OrderID, Reason: c.Reason,
		Metadata: c.Metadata, KeyHash: c.keyHash(s),
	}, nil
}

// Refusal returns the error for a request that was recorded as refused by our own rules (D7).
func (e RefundRefused) Refusal(s State) error {
	if e.Nothing {
		return s.conflict(domain.ReasonPaymentAlreadyRefunded, "%s", e.Message)
	}
	err := s.conflict(domain.ReasonUnprocessableRefundAmount, "%s", e.Message)
	err.Kind = domain.KindInvalid
	return err
}

func (s State) captureOf(eventID string) (Operation, bool) {
	for op := range s.Each {
		if op.Kind != processor.Capture {
			continue
		}
		for _, a := range op.Answers {
			if a.EventID == eventID {
				return *op, true
			}
		}
	}
	return Operation{}, false
}

func (s State) refundRequested(e RefundRequested) State {
	s.Metadata = domain.MergeMetadata(s.Metadata, e.Metadata)
	return s.withKey(e.KeyHash).request(Operation{
		Kind: processor.Refund, Amount: e.Amount, Parent: s.refundParent(e.Capture), RequestedAt: e.At,
		OrderID: e.OrderID, Reason: e.Reason,
	})
}

func (s State) refundRefused(e RefundRefused) State {
	return s.withKey(e.KeyHash).refused(e.EventID, e.Message, Operation{
		Kind: processor.Refund, Amount: e.Amount, Parent: s.refundParent(e.Capture), RequestedAt: e.At,
	})
}

// refundParent returns the revision that a refund acts upon: the capture's, or the authorization's.
func (s State) refundParent(capture uint64) uint64 {
	if capture != 0 {
		return capture
	}
	return s.newestAuthorization().Revision
}
