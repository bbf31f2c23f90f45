package commands

import (
	"context"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/session"
	"payledger/eventstore"
)

// claimCheckout records the payment as the one payment of its session: a session has one live payment at a time,
// whichever tabs and cards the customer uses (D12). A payment that the session named before can then no longer be
// created.
func (s *Service) claimCheckout(ctx context.Context, by Caller, c *creation) error {
	if !c.inBrowser() {
		return nil
	}
	for range startTries {
		tip, err := s.log.Sessions.Load(ctx, by.Account, c.Session, eventstore.Latest)
		if err != nil {
			return err
		}
		before := tip.State.Payment
		if before != "" && before != c.id {
			if err := s.supersede(ctx, by, c, before); err != nil {
				return err
			}
		}
		meta, err := s.request(by)
		if err != nil {
			return err
		}
		moved := false
		_, err = s.log.Sessions.Execute(ctx, by.Account, c.Session, meta,
			func(state session.State) (e session.Event, err error) {
				e, moved, err = session.DecideStartPayment(state, session.StartPayment{At: meta.At, Payment: c.id, Before: before})
				return e, err
			})
		if err != nil || !moved {
			return err
		}
	}
	return overtaken()
}

// supersede replaces the payment that the session names if it failed or was never created. A live payment stays. It
// also stays if this request repeats an older one.
func (s *Service) supersede(ctx context.Context, by Caller, c *creation, before domain.PaymentID) error {
	own, err := s.log.Payments.Load(ctx, by.Account, c.id, eventstore.Latest)
	if err != nil {
		return err
	}
	if own.Recorded != nil {
		return s.usedKey(ctx, own.State, c.PaymentInput)
	}
	tip, err := s.giveUp(ctx, by, before, c.id)
	if err != nil || !tip.State.Exists() || tip.State.EndedUnpaid() {
		return err
	}
	return naming(*cannotPay("its client session has a payment already"), tip.State)
}

// giveUp prevents a payment that does not exist from ever being created: it takes the place of its first event on every
// node. It returns the aggregate at that place.
func (s *Service) giveUp(ctx context.Context, by Caller, id, instead domain.PaymentID) (eventstore.Tip[payment.State], error) {
	meta, err := s.request(by)
	if err != nil {
		return eventstore.Tip[payment.State]{}, err
	}
	return s.log.Payments.ExecuteNew(ctx, by.Account, id, meta,
		func(state payment.State) (payment.Event, error) {
			return payment.DecideGiveUp(state, payment.GiveUp{At: meta.At, Account: by.Account, Instead: instead})
		})
}
