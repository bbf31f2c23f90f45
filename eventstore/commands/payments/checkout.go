package payments

import (
	"context"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/session"
	"payledger/eventstore"
	"payledger/eventstore/commands"
)

// claimCheckout records the payment as the one payment of its session: a session has one live payment at a time,
// whichever tabs and cards the customer uses (D12). A payment that the session named before can then no longer be
// created.
func (s *Payments) claimCheckout(ctx context.Context, by commands.Caller, c *creation) error {
	if !c.inBrowser() {
		return nil
	}
	_, err := commands.Retry(func() (after session.State, moved bool, err error) {
		tip, err := s.Log.Sessions.Load(ctx, by.Account, c.Session, eventstore.Latest)
		if err != nil {
			return tip.State, false, err
		}
		before := tip.State.Payment
		if before != "" && before != c.id {
			if err := s.supersede(ctx, by, c, before); err != nil {
				return tip.State, false, err
			}
		}
		tip, err = commands.Request(ctx, s.Base, by, s.Log.Sessions.Execute, c.Session, func(state session.State, at time.Time) (e session.Event, err error) {
			e, moved, err = session.DecideStartPayment(state, session.StartPayment{At: at, Payment: c.id, Before: before})
			return e, err
		})
		return tip.State, moved && err == nil, err
	})
	return err
}

// supersede replaces the payment that the session names if it failed or was never created. A live payment stays. It
// also stays if this request repeats an older one.
func (s *Payments) supersede(ctx context.Context, by commands.Caller, c *creation, before domain.PaymentID) error {
	own, err := s.Log.Payments.Load(ctx, by.Account, c.id, eventstore.Latest)
	if err != nil {
		return err
	}
	if own.Recorded != nil {
		return s.usedKey(ctx, own.State, c.PaymentInput)
	}
	tip, err := s.GiveUp(ctx, by, before, c.id)
	if err != nil || !tip.State.Exists() || tip.State.EndedUnpaid() {
		return err
	}
	return SessionPaid(tip.State)
}

// GiveUp prevents a payment that does not exist from ever being created: it takes the place of its first event on every
// node. It returns the aggregate at that place.
func (s *Payments) GiveUp(ctx context.Context, by commands.Caller, id, instead domain.PaymentID) (eventstore.Tip[payment.State], error) {
	return commands.Request(ctx, s.Base, by, s.Log.Payments.ExecuteNew, id, func(state payment.State, at time.Time) (payment.Event, error) {
		return payment.DecideGiveUp(state, payment.GiveUp{At: at, Account: by.Account, Instead: instead})
	})
}
