package commands

import (
	"context"
	"errors"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/workflow"
	"payledger/eventstore"
)

// keyed tells whether an operation has a key whose claim stands elsewhere: the key that made the payment
// stands in the payment itself, and that of a workflow's action can be sent for no other payment.
func (o operation) keyed(account domain.AccountID) (eventstore.Key, bool) {
	if o.key == "" || workflow.IsStepKey(o.key) {
		return eventstore.Key{}, false
	}
	id := domain.PaymentIDForKey(account, o.key)
	return eventstore.Payments.Key(account, string(id)), id != o.payment
}

// checkKey refuses a key that belongs to another payment (D9), without recording anything.
func (s *Service) checkKey(ctx context.Context, by Caller, o operation) error {
	key, keyed := o.keyed(by.Account)
	if !keyed {
		return nil
	}
	known, err := eventstore.Load(ctx, s.Store, eventstore.Payments, eventstore.Payments.Key(by.Account, string(o.payment)), eventstore.AllowStale)
	if err != nil || !known.State.Exists() {
		return err // an unknown payment is refused before its key is looked at
	}
	tip, err := eventstore.Load(ctx, s.Store, eventstore.Payments, key, eventstore.AllowStale)
	if err != nil {
		return err
	}
	_, err = payment.DecideClaim(tip.State, payment.ClaimKey{Payment: o.payment})
	return s.ofOwner(ctx, by.Account, err)
}

// claimKey records that the key belongs to the payment, before the payment itself decides (D9). A claim that
// a crash left is completed by the repeat.
func (s *Service) claimKey(ctx context.Context, by Caller, o operation) error {
	key, keyed := o.keyed(by.Account)
	if !keyed {
		return nil
	}
	meta, err := s.request(by)
	if err != nil {
		return err
	}
	_, err = eventstore.ExecuteNew(ctx, s.Store, eventstore.Payments, key, meta, func(state payment.State) (payment.Event, error) {
		return payment.DecideClaim(state, payment.ClaimKey{
			At: meta.At, Account: by.Account, Payment: o.payment, Operation: o.kind,
		})
	})
	return s.ofOwner(ctx, by.Account, err)
}

// ofOwner adds the status of the payment that a refused key belongs to (D3).
func (s *Service) ofOwner(ctx context.Context, account domain.AccountID, err error) error {
	var refused *domain.Error
	if !errors.As(err, &refused) || refused.Reason != domain.ReasonIdempotencyKeyExists {
		return err
	}
	owner, loadErr := eventstore.Load(ctx, s.Store, eventstore.Payments, eventstore.Payments.Key(account, string(refused.Payment)), eventstore.AllowStale)
	if loadErr != nil {
		return loadErr
	}
	refused.Status = string(owner.State.Status())
	return refused
}
