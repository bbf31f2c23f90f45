package projections

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/payment"
	"payledger/eventstore"
	"payledger/projections/auditlog"
	"payledger/projections/listing"
	"payledger/projections/sqlitefile"
	"payledger/projections/statistics"
	"payledger/projections/transactions"
)

// WithRows calls do with connections that only read the read model.
func (p *Projections) WithRows(_ context.Context, do func(*sql.DB) error) error {
	m, done := p.reading()
	defer done()
	return do(m.Readers())
}

func unavailable(err error) error {
	return &domain.Error{
		Kind: domain.KindUnavailable, Reason: domain.ReasonServiceUnavailable,
		Message: "The data cannot be read now.", Recovery: "Repeat the request.", Err: err,
	}
}

// Payment reads one payment from the store, linearizable (see the package comment). A payment that
// is unknown or of another account is the domain's PaymentError; a store that does not answer
// before ctx ends is ServiceUnavailable.
func (p *Projections) Payment(ctx context.Context, account domain.AccountID, id domain.PaymentID) (payment.State, error) {
	s, err := newest(ctx, p, eventstore.Payments, account, string(id))
	if err == nil && !s.Exists() { // the claim of a key is no payment (D9)
		err = payment.NotFound()
	}
	return s, err
}

func newest[S any, E domain.Event](ctx context.Context, p *Projections, a *eventstore.Aggregate[S, E], account domain.AccountID, id string) (S, error) {
	return load(ctx, p, a, a.Key(account, id), eventstore.Latest)
}

func load[S any, E domain.Event](ctx context.Context, p *Projections, a *eventstore.Aggregate[S, E], key eventstore.Key, consistency eventstore.Consistency) (S, error) {
	tip, err := eventstore.Load(ctx, p.Store, a, key, consistency)
	if err != nil {
		var none S
		return none, unavailable(err)
	}
	return tip.State, nil
}

// Settings reads an account's settings, with every change that was acknowledged before the call; an
// unknown account has zero settings.
func (p *Projections) Settings(ctx context.Context, id domain.AccountID) (account.Settings, error) {
	s, err := load(ctx, p, eventstore.Accounts, eventstore.Accounts.Key(id, string(id)), eventstore.Leased)
	return s.Settings, err
}

const ownerWait = 2 * time.Second

// SessionAccount returns the account of a client session; false: there is no such session. If the
// read model has no row, it waits for the log's end as of the call, 2 s at most.
func (p *Projections) SessionAccount(ctx context.Context, id domain.SessionID) (domain.AccountID, bool, error) {
	if p.NoRows {
		return p.sessionOwner(ctx, id)
	}
	account, found, err := p.ownerRow(ctx, "session", selectSession, string(id))
	if err != nil || found || !domain.ValidID(string(id)) {
		return account, found, err
	}
	return p.awaitOwner(ctx, "session", selectSession, string(id))
}

// maxOwners bounds the accounts under which an unknown payment is looked up: microseconds each, all
// of them milliseconds.
const maxOwners = 100

// PaymentAccount returns the account of a payment; false: there is none. Without a row it looks
// under each account in the store, which has every acknowledged creation; with more than maxOwners
// accounts it waits for the log's end as of the call, 2 s at most.
func (p *Projections) PaymentAccount(ctx context.Context, id domain.PaymentID) (domain.AccountID, bool, error) {
	if !p.NoRows {
		account, found, err := p.ownerRow(ctx, "payment", selectPaymentAccount, string(id))
		if err != nil || found {
			return account, found, err
		}
	}
	if !domain.ValidID(string(id)) {
		return "", false, nil
	}
	owners := p.Accounts()
	if len(owners) > maxOwners && !p.NoRows {
		return p.awaitOwner(ctx, "payment", selectPaymentAccount, string(id))
	}
	for _, owner := range owners {
		s, err := newest(ctx, p, eventstore.Payments, owner.ID, string(id))
		if err != nil {
			return "", false, err
		}
		if s.Exists() {
			return owner.ID, true, nil
		}
	}
	return "", false, nil
}

func (p *Projections) ownerRow(ctx context.Context, what, query, id string) (domain.AccountID, bool, error) {
	var account string
	m, done := p.reading()
	defer done()
	err := m.Readers().QueryRowContext(ctx, query, id).Scan(&account)
	if errors.Is(err, sql.ErrNoRows) {
		return "", false, nil
	}
	if err != nil {
		return "", false, unavailable(fmt.Errorf("projections: %s: %w", what, m.Noticed(err)))
	}
	return domain.AccountID(account), true, nil
}

// awaitOwner waits for the end of an id's shard as of the call, ownerWait at most, and reads the
// row again.
func (p *Projections) awaitOwner(ctx context.Context, what, query, id string) (domain.AccountID, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, ownerWait)
	defer cancel()
	if err := p.shardCaughtUp(ctx, domain.Shard(id, p.Store.Shards())); err != nil {
		return "", false, unavailable(err)
	}
	return p.ownerRow(ctx, what, query, id)
}

const tipReaders = 8

type rowKey struct {
	key      eventstore.Key
	revision uint64
}

func readRows[T any](ctx context.Context, m *model, read func(sqlitefile.Scan) (T, error), query string, args ...any) ([]T, error) {
	all, err := sqlitefile.Read(ctx, m.Readers(), read, query, args...)
	return all, m.Noticed(err)
}

// rowsOf runs a query of the model in use and reads each of its rows. what names the rows in an
// error.
func rowsOf[T any](ctx context.Context, p *Projections, what string, read func(sqlitefile.Scan) (T, error), query string, args ...any) ([]T, error) {
	m, done := p.reading()
	defer done()
	all, err := readRows(ctx, m, read, query, args...)
	if err != nil {
		return nil, fmt.Errorf("projections: %s: %w", what, err)
	}
	return all, nil
}

func readKeys(ctx context.Context, m *model, key func(id string) eventstore.Key, query string, args ...any) ([]rowKey, error) {
	return readRows(ctx, m, func(scan sqlitefile.Scan) (row rowKey, err error) {
		var id string
		err = scan(&id, &row.revision)
		row.key = key(id)
		return row, err
	}, query, args...)
}

// tips reads the newest states of the rows' aggregates, in the order of the rows. No state is older
// than its row.
func tips[S any, E domain.Event](ctx context.Context, store eventstore.Untyped, a *eventstore.Aggregate[S, E], rows []rowKey) ([]S, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	states := make([]S, len(rows))
	var next atomic.Int64
	var readers sync.WaitGroup
	for range min(tipReaders, len(rows)) {
		readers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(rows) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				var err error
				if states[i], err = tipOf(ctx, store, a, rows[i]); err != nil {
					cancel(err)
				}
			}
		})
	}
	readers.Wait()
	return states, context.Cause(ctx)
}

var errAhead = errors.New("projections: the read model is ahead of the log")

// tipOf reads one state. If a replica of the log is behind this node's views, it reads from the
// leader.
func tipOf[S any, E domain.Event](ctx context.Context, store eventstore.Untyped, a *eventstore.Aggregate[S, E], row rowKey) (S, error) {
	tip, err := eventstore.Load(ctx, store, a, row.key, eventstore.Applied)
	if err != nil || tip.Recorded == nil || tip.Recorded.Revision < row.revision {
		tip, err = eventstore.Load(ctx, store, a, row.key, eventstore.Latest)
	}
	if err == nil && (tip.Recorded == nil || tip.Recorded.Revision < row.revision) {
		err = fmt.Errorf("%w: %s revision %d was applied", errAhead, row.key, row.revision)
	}
	return tip.State, err
}

// Statistics counts the payments of an account that were created on some days (D20), with all that
// this node acknowledged.
func (p *Projections) Statistics(ctx context.Context, account domain.AccountID, q statistics.Query) (statistics.Report, error) {
	return current(ctx, p, func(ctx context.Context) (statistics.Report, error) {
		m, done := p.reading()
		defer done()
		report, err := statistics.Read(ctx, m.Readers(), account, q)
		return report, m.Noticed(err)
	})
}

// ListAudit reads a page of at most limit entries of an account's audit log after from, with all
// that this node acknowledged.
func (p *Projections) ListAudit(ctx context.Context, account domain.AccountID, f auditlog.Filter, from *listing.Place, limit int) (listing.Page[auditlog.Entry], error) {
	return current(ctx, p, func(ctx context.Context) (page listing.Page[auditlog.Entry], err error) {
		m, done := p.reading()
		defer done()
		reader := &auditlog.Reader{Store: p.Store, DB: m.Readers(), Account: account}
		rows, err := reader.List(ctx, f, from, limit+1)
		if err != nil {
			return page, m.Noticed(err)
		}
		of := listing.PageOf(rows, limit, auditlog.Row.Place)
		page.Next = of.Next
		page.Data, err = reader.Entries(ctx, of.Data)
		return page, m.Noticed(err)
	})
}

// PaymentsOfTransaction reads at most limit payments with a processor's transaction id, newest
// first, with all that this node acknowledged.
func (p *Projections) PaymentsOfTransaction(ctx context.Context, account domain.AccountID, id string, limit int) (all []payment.State, err error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	if err := p.appendedHere(ctx); err != nil {
		return nil, unavailable(err)
	}
	m, done := p.reading()
	found, err := transactions.Payments(ctx, m.Readers(), account, id, limit)
	done()
	if err != nil {
		return nil, unavailable(fmt.Errorf("projections: transaction: %w", m.Noticed(err)))
	}
	for _, one := range found {
		s, err := p.Payment(ctx, account, one)
		if err != nil {
			return nil, err
		}
		for op := range s.Each {
			if op.TransactionID == id {
				all = append(all, s)
				break
			}
		}
	}
	return all, nil
}
