package projections

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/payment"
	"payledger/eventstore"
)

// unavailable is the error for a failed read (D3).
func unavailable(err error) error {
	return &domain.Error{
		Kind: domain.KindUnavailable, Reason: domain.ReasonServiceUnavailable,
		Message: "The data cannot be read now.", Recovery: "Repeat the request.", Err: err,
	}
}

// Payment reads one payment from the store, linearizable (see the package comment): the state has every event that was
// acknowledged before the call, whatever the read model shows. A payment that is unknown or of another account is the
// domain's PaymentError; a store that does not answer before ctx ends is ServiceUnavailable.
func (p *Projections) Payment(ctx context.Context, account domain.AccountID, id domain.PaymentID) (payment.State, error) {
	tip, err := eventstore.Load(ctx, p.Store, eventstore.Payments, eventstore.Payments.Key(account, string(id)), eventstore.Latest)
	if err != nil {
		return payment.State{}, unavailable(err)
	}
	if !tip.State.Exists() { // the claim of a key is no payment (D9)
		return payment.State{}, payment.Unknown()
	}
	return tip.State, nil
}

// Settings reads an account's settings from the store, linearizable as Payment; an unknown account has zero settings.
func (p *Projections) Settings(ctx context.Context, id domain.AccountID) (account.Settings, error) {
	tip, err := eventstore.Load(ctx, p.Store, eventstore.Accounts, eventstore.Accounts.Key(id, string(id)), eventstore.Latest)
	if err != nil {
		return account.Settings{}, unavailable(err)
	}
	return tip.State.Settings, nil
}

// sessionWait bounds the wait for an unknown session.
const sessionWait = 2 * time.Second

// SessionAccount returns the account of a client session; false: there is no such session. If the read model has no row, it
// waits for the log's end as of the call, 2 s at most.
func (p *Projections) SessionAccount(ctx context.Context, id domain.SessionID) (domain.AccountID, bool, error) {
	account, found, err := p.sessionRow(ctx, id)
	if err != nil || found || !domain.ValidID(string(id)) {
		return account, found, err
	}
	ctx, cancel := context.WithTimeout(ctx, sessionWait)
	defer cancel()
	if err := p.shardCaughtUp(ctx, domain.Shard(string(id), p.Store.Shards())); err != nil {
		return "", false, unavailable(err)
	}
	return p.sessionRow(ctx, id)
}

func (p *Projections) sessionRow(ctx context.Context, id domain.SessionID) (domain.AccountID, bool, error) {
	var account string
	err := p.model.Readers().QueryRowContext(ctx, selectSession, string(id)).Scan(&account)
	if errors.Is(err, sql.ErrNoRows) {
		return "", false, nil
	}
	if err != nil {
		return "", false, unavailable(fmt.Errorf("projections: session: %w", p.model.Noticed(err)))
	}
	return domain.AccountID(account), true, nil
}

// maxOwners bounds the accounts under which an unknown payment is looked up. A look-up takes microseconds, all of them
// milliseconds.
const maxOwners = 100

// PaymentAccount returns the account of a payment; false: there is no such payment. If the read model has no row, it looks
// the payment up in the store under each account: it waits for nothing, and finds every payment whose creation was
// acknowledged. With more than maxOwners accounts it waits for the log's end as of the call, 2 s at most.
func (p *Projections) PaymentAccount(ctx context.Context, id domain.PaymentID) (domain.AccountID, bool, error) {
	account, found, err := p.paymentRow(ctx, id)
	if err != nil || found || !domain.ValidID(string(id)) {
		return account, found, err
	}
	if owners := p.Accounts(); len(owners) <= maxOwners {
		return p.paymentOwner(ctx, owners, id)
	}
	ctx, cancel := context.WithTimeout(ctx, sessionWait)
	defer cancel()
	if err := p.shardCaughtUp(ctx, domain.Shard(string(id), p.Store.Shards())); err != nil {
		return "", false, unavailable(err)
	}
	return p.paymentRow(ctx, id)
}

// paymentOwner returns the account that has the payment in the store.
func (p *Projections) paymentOwner(ctx context.Context, owners []account.State, id domain.PaymentID) (domain.AccountID, bool, error) {
	for _, owner := range owners {
		tip, err := eventstore.Load(ctx, p.Store, eventstore.Payments, eventstore.Payments.Key(owner.ID, string(id)), eventstore.Latest)
		if err != nil {
			return "", false, unavailable(err)
		}
		if tip.State.Exists() {
			return owner.ID, true, nil
		}
	}
	return "", false, nil
}

func (p *Projections) paymentRow(ctx context.Context, id domain.PaymentID) (domain.AccountID, bool, error) {
	var account string
	err := p.model.Readers().QueryRowContext(ctx, selectPaymentAccount, string(id)).Scan(&account)
	if errors.Is(err, sql.ErrNoRows) {
		return "", false, nil
	}
	if err != nil {
		return "", false, unavailable(fmt.Errorf("projections: payment: %w", p.model.Noticed(err)))
	}
	return domain.AccountID(account), true, nil
}
