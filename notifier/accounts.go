package notifier

import (
	"context"
	"sync/atomic"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore"
)

// accounts reads accounts and their endpoints.
type accounts struct {
	store *eventstore.Store
	views Views
	tips  []uint64 // per shard: where the log ended at the start
	shown atomic.Bool
}

// findEndpoint finds an account's endpoint, with the account; ErrNoEndpoint when there is none.
type findEndpoint func(context.Context, domain.AccountID, domain.EndpointID) (account.State, account.Endpoint, error)

func newAccounts(ctx context.Context, s *eventstore.Store, v Views) (*accounts, error) {
	a := &accounts{store: s, views: v, tips: make([]uint64, s.Shards())}
	for shard := range a.tips {
		var err error
		if a.tips[shard], err = s.LastSeq(ctx, shard); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// endpoint finds an endpoint for an attempt. One that the account's state does not show, or shows as disabled, is
// looked for in the log: views may lag, and a delivery that is cancelled is not sent any more.
func (a *accounts) endpoint(ctx context.Context, id domain.AccountID, endpoint domain.EndpointID) (account.State, account.Endpoint, error) {
	merchant, err := a.current(ctx, id)
	if err != nil {
		return merchant, account.Endpoint{}, err
	}
	if e, known := merchant.Endpoint(endpoint); known && e.Enabled {
		return merchant, e, nil
	}
	return a.endpointNow(ctx, id, endpoint)
}

// endpointNow finds an endpoint as it stands in the log: what a person asks for goes by what was changed last.
func (a *accounts) endpointNow(ctx context.Context, id domain.AccountID, endpoint domain.EndpointID) (account.State, account.Endpoint, error) {
	merchant, err := a.now(ctx, id)
	if err != nil {
		return merchant, account.Endpoint{}, err
	}
	e, known := merchant.Endpoint(endpoint)
	if !known {
		return merchant, e, ErrNoEndpoint
	}
	return merchant, e, nil
}

// current gives an account without asking the server: what this process appended last, else what the views show, once
// they show all that was in the log at the start.
func (a *accounts) current(ctx context.Context, id domain.AccountID) (account.State, error) {
	if tip, known := eventstore.Remembered(a.store, eventstore.Accounts, accountKey(id)); known {
		return tip.State, nil
	}
	if !a.shown.Load() {
		for shard, last := range a.tips {
			if last == 0 {
				continue
			}
			if err := a.views.WaitFor(ctx, shard, last); err != nil {
				return account.State{}, err
			}
		}
		a.shown.Store(true)
	}
	merchant, _ := a.views.Account(id)
	return merchant, nil
}

// now gives an account as the log holds it.
func (a *accounts) now(ctx context.Context, id domain.AccountID) (account.State, error) {
	if tip, known := eventstore.Remembered(a.store, eventstore.Accounts, accountKey(id)); known {
		return tip.State, nil
	}
	tip, err := eventstore.Load(ctx, a.store, eventstore.Accounts, accountKey(id), eventstore.Latest)
	return tip.State, err
}

func accountKey(id domain.AccountID) eventstore.Key { return eventstore.Accounts.Key(id, string(id)) }
