package message

import (
	"context"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore"
)

type findEndpoint func(context.Context, domain.AccountID, domain.EndpointID) (account.State, account.Endpoint, error)

// endpoint returns an endpoint for an automatic attempt: from the log if it is missing or disabled
// in the views, which may lag.
func (w *Writer) endpoint(ctx context.Context, id domain.AccountID, endpoint domain.EndpointID) (account.State, account.Endpoint, error) {
	merchant, err := w.cachedAccount(ctx, id)
	if err != nil {
		return merchant, account.Endpoint{}, err
	}
	if e, known := merchant.Endpoint(endpoint); known && e.Enabled {
		return merchant, e, nil
	}
	return w.endpointNow(ctx, id, endpoint)
}

func (w *Writer) endpointNow(ctx context.Context, id domain.AccountID, endpoint domain.EndpointID) (account.State, account.Endpoint, error) {
	merchant, err := w.Account(ctx, id)
	if err != nil {
		return merchant, account.Endpoint{}, err
	}
	e, known := merchant.Endpoint(endpoint)
	if !known {
		return merchant, e, ErrNoEndpoint
	}
	return merchant, e, nil
}

// cachedAccount returns an account without a read of the log: from memory, else from the views once
// they have reached ends.
func (w *Writer) cachedAccount(ctx context.Context, id domain.AccountID) (account.State, error) {
	if tip, known := eventstore.Remembered(w.store, eventstore.Accounts, accountKey(id)); known {
		return tip.State, nil
	}
	if !w.caught.Load() {
		if err := w.views.Reach(ctx, w.ends); err != nil {
			return account.State{}, err
		}
		w.caught.Store(true)
	}
	merchant, _ := w.views.Account(id)
	return merchant, nil
}

// changed reports whether the endpoint or the signing secret changed since known. It reads nothing
// from the event log: this node has a change in memory, or else in the views, before the change is
// answered.
func (w *Writer) changed(known account.State, endpoint account.Endpoint) bool {
	var now account.State
	if tip, there := eventstore.Remembered(w.store, eventstore.Accounts, accountKey(known.ID)); there {
		now = tip.State
	} else {
		now, _ = w.views.Account(known.ID)
	}
	if now.Revision <= known.Revision {
		return false
	}
	e, there := now.Endpoint(endpoint.ID)
	return !there || e.Enabled != endpoint.Enabled || e.URL != endpoint.URL || now.Signing.Secret != known.Signing.Secret
}

// Account returns an account as it is in the log.
func (w *Writer) Account(ctx context.Context, id domain.AccountID) (account.State, error) {
	tip, err := w.AccountTip(ctx, id)
	return tip.State, err
}

// AccountTip returns an account as it is in the log, with its newest event.
func (w *Writer) AccountTip(ctx context.Context, id domain.AccountID) (eventstore.Tip[account.State], error) {
	if tip, known := eventstore.Remembered(w.store, eventstore.Accounts, accountKey(id)); known {
		return tip, nil
	}
	return eventstore.Load(ctx, w.store, eventstore.Accounts, accountKey(id), eventstore.Leased)
}

func accountKey(id domain.AccountID) eventstore.Key { return eventstore.Accounts.Key(id, string(id)) }
