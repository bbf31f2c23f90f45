package commands

import (
	"context"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/session"
	"payledger/eventstore"
)

// claimCheckout makes the payment the one that the browser of its session pays: a session has one at a time that lives,
// whatever tabs ask for with whatever cards, at once or later (D12). After it no payment that the session named before
// can be made any more.
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

// supersede lets the payment take the place of the one that the session names: of one that came to nothing, or that was
// never made and now never will be. One that lives stays, and so does it when this request is the repeat of an older
// one.
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

// giveUp makes sure that a payment which is not there is never made: it takes the place of its first event, so that
// whoever is about to make it, on whatever node, is refused. It gives what stands there.
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
