package httpapi

import (
	"slices"

	"payledger/domain"
	"payledger/domain/attempt"
	"payledger/domain/payment"
	"payledger/domain/session"
	"payledger/httpapi/checkout"
	"payledger/projections"
)

// openAttempt finds the attempt that waits for the merchant, or whose payment is being made (§3.3); "" when none does.
// One that waits at another price than the session's waits in vain: the customer is asked anew.
func (c *call) openAttempt(s session.State) (domain.AttemptID, error) {
	if s.Attempt == "" {
		return "", nil
	}
	current, err := c.api.Commands.Attempt(c.ctx, s.Account, s.Attempt)
	waits := current.Status(c.api.Now()) == attempt.RequiresApproval
	if err != nil || !waits && (current.Decision != attempt.Approved || current.Done) {
		return "", err
	}
	if changed, err := c.api.Commands.AmountChanged(c.ctx, current); err != nil || changed {
		return "", err
	}
	return current.ID, nil
}

// openPayment finds the payment that a session has already, paid or under way; the zero state when it has none. Whoever
// opens the page again, in whatever tab, sees that payment and no form to pay a second time.
func (c *call) openPayment(s session.State) (payment.State, error) {
	open := []string{
		string(payment.StatusPending), string(payment.StatusAuthorized), string(payment.StatusSettling),
		string(payment.StatusPartiallySettled), string(payment.StatusSettled),
	}
	listed, err := c.api.Reader.ListPayments(c.ctx, s.Account, projections.PaymentFilter{Session: s.ID, Statuses: open}, nil, 1)
	if err != nil || len(listed.Data) == 0 {
		return payment.State{}, err
	}
	return c.api.Reader.Payment(c.ctx, s.Account, listed.Data[0].ID)
}

// savedCards are the vaulted cards of the session's customer, the default first, without those that have expired.
func (c *call) savedCards(s session.State) ([]checkout.SavedCard, error) {
	if s.CustomerID == "" {
		return nil, nil
	}
	found, byDefault, err := c.api.Reader.Instruments(c.ctx, s.Account, s.CustomerID)
	if err != nil {
		return nil, err
	}
	month := c.api.Now().UTC().Format("2006-01")
	var cards []checkout.SavedCard
	for _, f := range found {
		card := checkout.SavedCard{
			Token: f.Token, Network: f.Card.Network, Last4: f.Card.Last4Digits,
			ExpirationMonth: f.Card.ExpirationMonth, ExpirationYear: f.Card.ExpirationYear,
		}
		switch {
		case !s.Method.Takes(f.Card.Network):
		case f.Card.ExpirationYear+"-"+f.Card.ExpirationMonth < month:
		case f.Token == byDefault:
			cards = slices.Insert(cards, 0, card)
		default:
			cards = append(cards, card)
		}
	}
	return cards, nil
}
