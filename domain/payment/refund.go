package payment

import (
	"fmt"
	"strings"

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

	RefuseDisputed bool       // the caller does not want it beside a dispute that is open or lost (D22.2)
	Disputed       []Disputed // those disputes, if the caller or the account refuses the refund because of them
}

// Disputed is a dispute of the payment that forbids a refund (D22.2).
type Disputed struct {
	ID   domain.DisputeID
	Text string // the id with type, status and amount
}

const refundModel = "PaymentRefund"

// DecideRefund returns RefundRequested, or RefundRefused above the refundable amount (D7).
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
	if len(c.Disputed) > 0 {
		return nil, s.disputed(c)
	}
	if err := s.withinLimit(processor.Refund, c.At); err != nil {
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

// disputed returns the error for a refund that its caller, or the account, refuses because of
// disputes (D22.2). Nothing is recorded.
func (s State) disputed(c Refund) error {
	names := make([]string, len(c.Disputed))
	for i, d := range c.Disputed {
		names[i] = d.Text
	}
	err := s.conflict(domain.ReasonInvalidPaymentStatus, "The payment has a dispute that is open or lost: %s. A refund may pay the customer twice, and was refused.", strings.Join(names, "; "))
	err.Disputed = true
	err.Recovery = fmt.Sprintf("GET /management/disputes/%s shows the dispute, and the webhook DISPUTE.STATUS every change. ", c.Disputed[0].ID)
	if c.RefuseDisputed {
		err.Recovery += "To refund all the same, leave refuse_disputed out."
	} else {
		err.Recovery += "To refund all the same, switch the account's setting refuseRefundOfDisputed off: PATCH /management/settings."
	}
	return err
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
			At: c.At, EventID: c.EventID, Amount: amount, Capture: capture, Nothing: s.refundedForGood(), KeyHash: c.keyHash(s),
		}
		refused.Message = s.refundShortage(refused, left, c.Amount == nil)
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

// refundedForGood reports whether every captured amount is confirmed, every refund has ended, and
// nothing is left (D22.1).
func (s State) refundedForGood() bool {
	return s.Refundable() == 0 && !s.open(processor.Capture) && !s.open(processor.Refund)
}

// refundShortage returns the message of a refused refund, with the amounts (D22.1). left is the
// refundable amount; all: the request was for all of it.
func (s State) refundShortage(e RefundRefused, left domain.Amount, all bool) string {
	text := func(a domain.Amount) string { return a.Format(s.Currency) }
	if e.Nothing {
		return fmt.Sprintf("All of the captured %s is refunded.", text(s.Captured()))
	}
	message := text(left) + " is left to refund"
	if e.Capture != 0 {
		message = text(left) + " of the capture is left to refund, " + text(s.Refundable()) + " of all captures"
	}
	if !all {
		message += "; " + text(e.Amount) + " was requested"
	}
	message += fmt.Sprintf(". Captured: %s. Refunded: %s. Pending: %s of captures, %s of refunds.", text(s.Captured()), text(s.Refunded()),
		text(s.sum(processor.Capture, open)), text(s.sum(processor.Refund, open)))
	if when := s.refundableLater(e); when != "" {
		message += " Try again when " + when + "."
	}
	return message
}

// refundableLater returns the condition under which a refused refund may be possible; "": it stays
// impossible.
func (s State) refundableLater(e RefundRefused) string {
	later := s.Captured() + s.sum(processor.Capture, open) - s.Refunded()
	capture, refund := s.open(processor.Capture), s.open(processor.Refund)
	if op, found := s.Operation(e.Capture); found {
		returning := func(in func(OperationState) bool) (total domain.Amount) {
			for other := range s.Each {
				if other.Kind == processor.Refund && other.Parent == op.Revision && in(other.State) {
					total += other.Amount
				}
			}
			return total
		}
		ofIt := domain.Amount(0)
		if op.State.counts() {
			ofIt = op.Amount - returning(succeeded)
		}
		later = min(later, ofIt)
		capture, refund = op.State.Open(), refund && (returning(open) > 0 || s.Refundable() < ofIt)
	}
	switch {
	case later < max(1, e.Amount):
		return ""
	case capture && refund:
		return "the pending capture is confirmed or the pending refund has failed"
	case capture:
		return "the pending capture is confirmed"
	case refund:
		return "the pending refund has failed"
	default:
		return ""
	}
}

// Refusal returns the error for a request that was recorded as refused by our own rules (D7,
// D22.1).
func (e RefundRefused) Refusal(s State) error {
	if e.Nothing {
		err := s.conflict(domain.ReasonPaymentAlreadyRefunded, "%s", e.Message)
		if s.Status() != StatusSettled {
			err.Recovery = "GET /payments/{id} shows the refunds. An amount that is captured later can be refunded then."
		}
		return err
	}
	err := s.conflict(domain.ReasonUnprocessableRefundAmount, "%s", e.Message)
	err.Kind = domain.KindInvalid
	switch when := s.refundableLater(e); {
	case when != "":
		err.Recovery = "Try again when " + when + ", with another X-Idempotency-Key: the webhooks PAYMENT.STATUS and PAYMENT.REFUND and GET /payments/{id} show the result."
	case e.Capture != 0 && s.Refundable() > 0:
		err.Recovery = "Refund at most what is left of the capture, or of another capture; without transactionEventId the refund is of all captures. Use another X-Idempotency-Key."
	}
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
