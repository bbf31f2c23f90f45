package payment

import (
	"payledger/domain"
	"payledger/domain/processor"
)

// Adjust is the command to hold a new total amount (D10).
type Adjust struct {
	Request
	Amount domain.Amount
}

// Only authorizations of this payment method type and authorization type can be adjusted (D10).
const (
	methodCard = "PAYMENT_CARD"
	estimated  = "ESTIMATED"
)

// DecideAdjust requests the adjustment. If the requested total is held already, it records only the
// idempotency key.
func DecideAdjust(s State, c Adjust) (Event, error) {
	if !s.Exists() {
		return nil, domain.Refuse(domain.KindNotFound, domain.ReasonEntityNotFound, notFound)
	}
	if err := s.checkRequest(c.Request); err != nil {
		return nil, err
	}
	if _, busy := s.blockingOperation(); busy {
		return nil, ErrRunning
	}
	if err := s.adjustable(); err != nil {
		return nil, err
	}
	if err := s.withinLimit(processor.Adjust, c.At); err != nil {
		return nil, err
	}
	switch {
	case c.Amount < 1 || c.Amount > domain.MaxAmount:
		return nil, domain.InvalidAt("PaymentAdjustAuthorization", "$.amount", "must be from 1 to %d minor units", domain.MaxAmount)
	case c.Amount != s.Amount:
		return AdjustmentRequested{At: c.At, Amount: c.Amount, KeyHash: c.keyHash(s)}, nil
	case c.IdempotencyKey != "":
		return AdjustmentUnneeded{At: c.At, KeyHash: c.keyHash(s)}, nil
	default:
		return nil, nil
	}
}

// adjustable returns an error if the payment's status or type does not allow an adjustment (D3,
// D10).
func (s State) adjustable() error {
	switch {
	case s.Status() == StatusPending:
		return s.conflict(domain.ReasonNotAuthorizedYet, "The payment is not authorized yet.")
	case s.Status() != StatusAuthorized:
		return s.notIn("adjusted")
	case s.Method.Type != methodCard:
		return s.conflict(domain.ReasonAdjustNonCard, "Only the authorization of a card payment can be adjusted.")
	case s.Method.AuthorizationType != estimated:
		return s.conflict(domain.ReasonIncorrectAuthorizationType, "Only an ESTIMATED authorization can be adjusted.")
	case s.Amount == 0: // D5.9: an account verification
		return s.conflict(domain.ReasonAdjustNotSupported, "An account verification holds no amount that could be adjusted.")
	default:
		return nil
	}
}

func (s State) adjustmentRequested(e AdjustmentRequested) State {
	return s.withKey(e.KeyHash).request(Operation{
		Kind: processor.Adjust, Amount: e.Amount, Parent: s.newestAuthorization().Revision, RequestedAt: e.At,
	})
}

// adjusted sets the new total. The authorize operation keeps its amount, because a resend under its
// key must be equal.
func (s State) adjusted(request uint64) State {
	op, _ := s.Operation(request)
	s.Amount = op.Amount
	return s
}
