package reconcile

import (
	"context"
	"errors"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/processor"
	"payledger/eventstore"
)

// Accounts lists all accounts of a ledger.
func Accounts(ctx context.Context, store eventstore.Tips) (list []domain.AccountID, err error) {
	err = store.Newest(ctx, eventstore.EveryAccount, eventstore.Accounts.Name, func(uint64) {}, func(r *eventstore.Recorded) error {
		list = append(list, r.Key.Account)
		return nil
	})
	return list, err
}

// merchantsOf returns every merchant account that an account ever had at a processor: notifications
// about past ones can still arrive.
func merchantsOf(ctx context.Context, store eventstore.Events, id domain.AccountID, name processor.Name) (map[string]bool, error) {
	merchants := map[string]bool{}
	events, err := store.History(ctx, eventstore.Accounts.Key(id, string(id)))
	if err != nil && !errors.Is(err, eventstore.ErrNotFound) {
		return nil, err
	}
	for _, r := range events {
		e, err := eventstore.Accounts.Event(r)
		if err != nil {
			return nil, err
		}
		var named []account.Processor
		switch e := e.(type) {
		case account.Created:
			named = e.Processors
		case account.ProcessorChanged:
			named = []account.Processor{e.Processor}
		}
		for _, p := range named {
			if p.Name == name {
				merchants[p.MerchantID] = true
			}
		}
	}
	return merchants, nil
}

// sharers returns the other accounts that have, or had, one of the account's merchant accounts.
func (r *run) sharers(ctx context.Context) (list []domain.AccountID, err error) {
	all, err := Accounts(ctx, r.Store)
	for _, id := range all {
		if id == r.Account || err != nil {
			continue
		}
		var theirs map[string]bool
		theirs, err = merchantsOf(ctx, r.Store, id, r.Processor)
		for merchant := range theirs {
			if r.merchants[merchant] {
				list = append(list, id)
				break
			}
		}
	}
	return list, err
}

// claims reports whether an operation of an unknown payment used a merchant account of the account,
// and is no other account's.
func (r *run) claims(ctx context.Context, reference domain.PaymentID, merchant string) (bool, error) {
	if !r.merchants[merchant] {
		return false, nil
	}
	others, err := r.sharing()
	if err != nil {
		return false, err
	}
	for _, other := range others {
		if theirs, err := r.has(ctx, other, reference); theirs || err != nil {
			return false, err
		}
	}
	return true, nil
}

// nobodys reports whether no account of the ledger has the payment.
func (r *run) nobodys(ctx context.Context, reference domain.PaymentID) (bool, error) {
	all, err := Accounts(ctx, r.Store)
	for _, id := range all {
		if theirs, err := r.has(ctx, id, reference); theirs || err != nil {
			return false, err
		}
	}
	return err == nil, err
}

func (r *run) has(ctx context.Context, id domain.AccountID, reference domain.PaymentID) (bool, error) {
	tip, err := eventstore.Load(ctx, r.Store, eventstore.Payments, eventstore.Payments.Key(id, string(reference)), eventstore.Applied)
	return tip.State.Exists(), err
}
