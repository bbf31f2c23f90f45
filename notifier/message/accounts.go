package message

import (
	"context"
	"sync/atomic"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore"
)

// accounts reads accounts and their endpoints.
type accounts struct {
	store  *eventstore.Store
	views  Views
	ends   []uint64    // per shard: the end of the log when the process started
	caught atomic.Bool // the views show the log up to ends
}

// findEndpoint returns an account and its endpoint, or ErrNoEndpoint.
type findEndpoint func(context.Context, domain.AccountID, domain.EndpointID) (account.State, account.Endpoint, error)

func newAccounts(ctx context.Context, s *eventstore.Store, v Views) (*accounts, error) {
	a := &accounts{store: s, views: v, ends: make([]uint64, s.Shards())}
	for shard := range a.ends {
		var err error
		if a.ends[shard], err = s.LastSeq(ctx, shard); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// endpoint returns an endpoint for an automatic attempt. If the endpoint is missing or disabled in the views, endpoint reads
// the log: views may lag, and CANCELLED is final.
func (a *accounts) endpoint(ctx context.Context, id domain.AccountID, endpoint domain.EndpointID) (account.State, account.Endpoint, error) {
	merchant, err := a.fromViews(ctx, id)
	if err != nil {
		return merchant, account.Endpoint{}, err
	}
	if e, known := merchant.Endpoint(endpoint); known && e.Enabled {
		return merchant, e, nil
	}
	return a.endpointNow(ctx, id, endpoint)
}

func (a *accounts) endpointNow(ctx context.Context, id domain.AccountID, endpoint domain.EndpointID) (account.State, account.Endpoint, error) {
	merchant, err := a.latest(ctx, id)
	if err != nil {
		return merchant, account.Endpoint{}, err
	}
	e, known := merchant.Endpoint(endpoint)
	if !known {
		return merchant, e, ErrNoEndpoint
	}
	return merchant, e, nil
}

// fromViews returns an account without a read of the log: the newest state in this process's memory, else the views' state.
// It first waits until the views show the log up to ends.
func (a *accounts) fromViews(ctx context.Context, id domain.AccountID) (account.State, error) {
	if tip, known := eventstore.Remembered(a.store, eventstore.Accounts, accountKey(id)); known {
		return tip.State, nil
	}
	if !a.caught.Load() {
		for shard, last := range a.ends {
			if last == 0 {
				continue
			}
			if err := a.views.WaitFor(ctx, shard, last); err != nil {
				return account.State{}, err
			}
		}
		a.caught.Store(true)
	}
	merchant, _ := a.views.Account(id)
	return merchant, nil
}

// changed reports whether a newer state of an account than a known one has another endpoint or signing secret. It reads nothing from the
// log: this process has a change in memory, or else in the views, before the change is answered.
func (a *accounts) changed(known account.State, endpoint account.Endpoint) bool {
	var now account.State
	if tip, there := eventstore.Remembered(a.store, eventstore.Accounts, accountKey(known.ID)); there {
		now = tip.State
	} else {
		now, _ = a.views.Account(known.ID)
	}
	if now.Revision <= known.Revision {
		return false
	}
	e, there := now.Endpoint(endpoint.ID)
	return !there || e.Enabled != endpoint.Enabled || e.URL != endpoint.URL || now.Signing.Secret != known.Signing.Secret
}

// latest returns an account as it is in the log.
func (a *accounts) latest(ctx context.Context, id domain.AccountID) (account.State, error) {
	if tip, known := eventstore.Remembered(a.store, eventstore.Accounts, accountKey(id)); known {
		return tip.State, nil
	}
	tip, err := eventstore.Load(ctx, a.store, eventstore.Accounts, accountKey(id), eventstore.Latest)
	return tip.State, err
}

func accountKey(id domain.AccountID) eventstore.Key { return eventstore.Accounts.Key(id, string(id)) }
