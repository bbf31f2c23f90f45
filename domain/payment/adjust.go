package payment

import (
	"payledger/domain"
	"payledger/domain/processor"
)

// Adjust asks to hold a new total (D10).
type Adjust struct {
	Request
	Amount domain.Amount
}

// methodCard is the one payment method type whose authorization can be adjusted (D10).
const methodCard = "PAYMENT_CARD"

// estimated is the authorization type that can be adjusted (D10).
const estimated = "ESTIMATED"

// DecideAdjust requests the adjustment. The total that is held already needs none: then only a key is
// recorded.
func DecideAdjust(s State, c Adjust) (Event, error) {
	if !s.Exists() {
		return nil, domain.Refuse(domain.KindNotFound, domain.ReasonEntityNotFound, "The payment cannot be found.")
	}
	if err := s.admit(c.Request); err != nil {
		return nil, err
	}
	if _, busy := s.running(); busy {
		return nil, ErrRunning
	}
	if err := s.adjustable(); err != nil {
		return nil, err
	}
	if err := s.withinLimit(); err != nil {
		return nil, err
	}
	switch {
	case c.Amount < 1 || c.Amount > domain.MaxAmount:
		return nil, domain.Invalid("PaymentAdjustAuthorization", domain.Violation{
			Path: "$.amount", Description: "must be an amount of at least 1",
		})
	case c.Amount != s.Amount:
		return AdjustmentRequested{At: c.At, Amount: c.Amount, KeyHash: c.keyHash(s)}, nil
	case c.IdempotencyKey != "":
		return AdjustmentUnneeded{At: c.At, KeyHash: c.keyHash(s)}, nil
	default:
		return nil, nil
	}
}

// adjustable refuses what cannot be adjusted: by its status, then by what it is (D3, D10).
func (s State) adjustable() error {
	refuse := func(reason domain.Reason, message string) error {
		err := domain.Refuse(domain.KindConflict, reason, "%s", message)
		err.Payment, err.Status = s.ID, string(s.Status())
		return err
	}
	switch {
	case s.Status() == StatusPending:
		return refuse(domain.ReasonNotAuthorizedYet, "The payment is not authorized yet.")
	case s.Status() != StatusAuthorized:
		return s.notIn("adjusted")
	case s.Method.Type != methodCard:
		return refuse(domain.ReasonAdjustNonCard, "Only the authorization of a card payment can be adjusted.")
	case s.Method.AuthorizationType != estimated:
		return refuse(domain.ReasonIncorrectAuthorizationType, "Only an ESTIMATED authorization can be adjusted.")
	case s.Amount == 0: // D5: an account verification holds nothing
		return refuse(domain.ReasonAdjustNotSupported, "An account verification holds nothing that could be adjusted.")
	default:
		return nil
	}
}

func adjustmentAnswer(c RecordAnswer) Event {
	switch {
	case c.Answer.State == processor.Succeeded:
		return Adjusted{c.fact()}
	case c.Answer.State == processor.Pending:
		return AdjustmentPending{c.fact()}
	case refusedByProcessor(c.Answer):
		return AdjustmentFailed{c.failed()}
	default:
		return nil
	}
}

func (s State) adjustmentRequested(e AdjustmentRequested) State {
	return s.withKey(e.KeyHash).request(Operation{
		Kind: processor.Adjust, Amount: e.Amount, Parent: s.held().Revision, RequestedAt: e.At,
	})
}

// adjusted takes over the new total. The authorization keeps the amount that it was requested with: a resend
// under its key must be the same.
func (s State) adjusted(request uint64) State {
	op, _ := s.Operation(request)
	s.Amount = op.Amount
	return s
}
