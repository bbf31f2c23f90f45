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

// unavailable wraps a failure to read (D3).
func unavailable(err error) error {
	return &domain.Error{
		Kind: domain.KindUnavailable, Reason: domain.ReasonServiceUnavailable,
		Message: "The data cannot be read now.", Recovery: "Repeat the request.", Err: err,
	}
}

// Payment reads one payment from the store, linearizable (see the package comment): every event that was acknowledged
// before the call is in the answer, whatever the read model shows. An unknown payment and one of another account are the
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

// Settings reads an account's settings from the store, linearizable as Payment; an unknown account has the zero ones.
func (p *Projections) Settings(ctx context.Context, id domain.AccountID) (account.Settings, error) {
	tip, err := eventstore.Load(ctx, p.Store, eventstore.Accounts, eventstore.Accounts.Key(id, string(id)), eventstore.Latest)
	if err != nil {
		return account.Settings{}, unavailable(err)
	}
	return tip.State.Settings, nil
}

// sessionWait bounds how long an unknown session id may hold up its caller.
const sessionWait = 2 * time.Second

// SessionAccount tells whose a client session is. A session that is not in the read model yet is waited
// for up to the log's present end, 2 s at most; false means that there is none.
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

// maxOwners is how many accounts are asked for a payment that is not in the read model. Reading a tip takes microseconds,
// so that they take milliseconds.
const maxOwners = 100

// PaymentAccount tells whose a payment is; false means that there is none. A payment that is not in the read model yet is
// looked for in the store, among each account's payments: nothing is waited for, and every payment of an account that this
// node knows is found as soon as its creation was acknowledged. With more accounts than that is meant for, the read model is
// waited for up to the log's present end, 2 s at most.
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

// paymentOwner finds the account that has a payment in the store.
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
