package projections

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/eventstore"
)

// unknownPayment answers for a payment that is not there, and for one of another account alike (D3).
func unknownPayment() error {
	return domain.Refuse(domain.KindInvalid, domain.ReasonPayment, "The payment cannot be found.")
}

// unavailable wraps a failure to read (D3).
func unavailable(err error) error {
	return &domain.Error{
		Kind: domain.KindUnavailable, Reason: domain.ReasonServiceUnavailable,
		Message: "The data cannot be read now.", Recovery: "Repeat the request.", Err: err,
	}
}

// Payment reads one payment, linearizable (see the package comment): every event that was acknowledged
// before the call is in the answer. An unknown payment and one of another account are the domain's
// PaymentError; a log or read model that does not answer before ctx ends is ServiceUnavailable.
func (p *Projections) Payment(ctx context.Context, account domain.AccountID, id domain.PaymentID) (payment.State, error) {
	newest, err := p.Store.Load(ctx, eventstore.Payments.Key(account, string(id)))
	if errors.Is(err, eventstore.ErrNotFound) {
		return payment.State{}, unknownPayment()
	}
	if err != nil {
		return payment.State{}, unavailable(err)
	}
	if err := p.WaitFor(ctx, newest.Shard, newest.Seq); err != nil {
		return payment.State{}, unavailable(err)
	}
	s, found, err := p.model.payment(ctx, account, id)
	if err == nil && !found {
		err = fmt.Errorf("projections: %s was applied and has no row", newest.Key)
	}
	if err != nil {
		return payment.State{}, unavailable(err)
	}
	return s, nil
}

// PendingOperation is an operation without an outcome: what recovery has to look after (D8).
type PendingOperation struct {
	Payment     domain.PaymentID
	Account     domain.AccountID
	Revision    uint64 // of the event that requested it
	RequestedAt time.Time
	State       payment.OperationState // REQUESTED, UNKNOWN or PENDING
}

// Pending lists the open operations that this node's read model shows, oldest payment first. It does not
// wait for the log: an operation may have its outcome by now.
func (p *Projections) Pending(ctx context.Context) ([]PendingOperation, error) {
	rows, err := p.model.readers.QueryContext(ctx, selectPending)
	if err != nil {
		return nil, fmt.Errorf("projections: pending: %w", p.model.noticed(err))
	}
	defer rows.Close()
	var out []PendingOperation
	for rows.Next() {
		var raw sql.RawBytes
		var s payment.State
		if err := rows.Scan(&raw); err != nil {
			return nil, fmt.Errorf("projections: pending: %w", p.model.noticed(err))
		}
		if err := eventstore.Unmarshal(raw, &s); err != nil {
			return nil, fmt.Errorf("projections: pending: %w", err)
		}
		if op, open := openOperation(&s); open {
			out = append(out, PendingOperation{
				Payment: s.ID, Account: s.Account, Revision: op.Revision, RequestedAt: op.RequestedAt, State: op.State,
			})
		}
	}
	return out, p.model.noticed(rows.Err())
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
	err := p.model.readers.QueryRowContext(ctx, selectSession, string(id)).Scan(&account)
	if errors.Is(err, sql.ErrNoRows) {
		return "", false, nil
	}
	if err != nil {
		return "", false, unavailable(fmt.Errorf("projections: session: %w", p.model.noticed(err)))
	}
	return domain.AccountID(account), true, nil
}

// CardNeeded tells whether the card behind a token may still be sent to a processor: the token was not
// used yet, may be used again, or pays for an operation that is open. It reads the log, not the read
// model: the sweep of cards that calls it is rare, and a view of tokens would cost two rows per payment.
// An answer from a log that lags behind errs on the side of needed.
func (p *Projections) CardNeeded(ctx context.Context, account domain.AccountID, token domain.Token) (bool, error) {
	tool, err := eventstore.LoadTip(ctx, p.Store, eventstore.Instruments, eventstore.Instruments.Key(account, string(token)))
	if err != nil {
		return true, err
	}
	if tool.State.UsedBy == "" || tool.State.Vaulted() {
		return true, nil
	}
	paid, err := eventstore.LoadTip(ctx, p.Store, eventstore.Payments, eventstore.Payments.Key(account, string(tool.State.UsedBy)))
	if err != nil {
		return true, err
	}
	_, open := openOperation(&paid.State)
	return open || !paid.State.Exists(), nil // claimed, and the payment's first event still to come
}
