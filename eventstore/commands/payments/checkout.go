package payments

import (
	"context"
	"reflect"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/session"
	"payledger/eventstore"
	"payledger/eventstore/commands"
)

// claimCheckout records the payment as the only live payment of its session, in all tabs and with
// all cards (D12). A payment that the session named before can then no longer be created.
func (s *Payments) claimCheckout(ctx context.Context, by commands.Caller, c *creation) error {
	if c.Session == "" || c.approval != nil {
		return nil // not from the browser (D12)
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
			e, moved, err = session.DecideStartPayment(state, session.StartPayment{
				At: at, Payment: c.id, Before: before, Changed: !reflect.DeepEqual(state.Fields, c.from),
			})
			return e, err
		})
		return tip.State, moved && err == nil, err
	})
	return err
}

// supersede replaces the payment that the session names if it failed or was never created, unless
// this request repeats an older one.
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

// GiveUp takes the place of a payment's first event on every node, so that it can never be created.
// It returns the aggregate there.
func (s *Payments) GiveUp(ctx context.Context, by commands.Caller, id, instead domain.PaymentID) (eventstore.Tip[payment.State], error) {
	return commands.Request(ctx, s.Base, by, s.Log.Payments.ExecuteNew, id, func(state payment.State, at time.Time) (payment.Event, error) {
		return payment.DecideGiveUp(state, payment.GiveUp{At: at, Account: by.Account, Instead: instead})
	})
}
