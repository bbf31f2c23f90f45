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
	s, err := newest(ctx, p, eventstore.Payments, account, string(id))
	if err == nil && !s.Exists() { // the claim of a key is no payment (D9)
		err = payment.Unknown()
	}
	return s, err
}

// newest reads the newest state of an aggregate from the store.
func newest[S any, E domain.Event](ctx context.Context, p *Projections, a *eventstore.Aggregate[S, E], account domain.AccountID, id string) (S, error) {
	tip, err := eventstore.Load(ctx, p.Store, a, a.Key(account, id), eventstore.Latest)
	if err != nil {
		var none S
		return none, unavailable(err)
	}
	return tip.State, nil
}

// Settings reads an account's settings from the store, linearizable as Payment; an unknown account has zero settings.
func (p *Projections) Settings(ctx context.Context, id domain.AccountID) (account.Settings, error) {
	s, err := newest(ctx, p, eventstore.Accounts, id, string(id))
	return s.Settings, err
}

// ownerWait bounds the wait for an unknown session or payment.
const ownerWait = 2 * time.Second

// SessionAccount returns the account of a client session; false: there is no such session. If the read model has no row, it
// waits for the log's end as of the call, 2 s at most.
func (p *Projections) SessionAccount(ctx context.Context, id domain.SessionID) (domain.AccountID, bool, error) {
	account, found, err := p.ownerRow(ctx, "session", selectSession, string(id))
	if err != nil || found || !domain.ValidID(string(id)) {
		return account, found, err
	}
	return p.awaitOwner(ctx, "session", selectSession, string(id))
}

// maxOwners bounds the accounts under which an unknown payment is looked up. A look-up takes microseconds, all of them
// milliseconds.
const maxOwners = 100

// PaymentAccount returns the account of a payment; false: there is no such payment. If the read model has no row, it looks
// the payment up in the store under each account: it waits for nothing, and finds every payment whose creation was
// acknowledged. With more than maxOwners accounts it waits for the log's end as of the call, 2 s at most.
func (p *Projections) PaymentAccount(ctx context.Context, id domain.PaymentID) (domain.AccountID, bool, error) {
	account, found, err := p.ownerRow(ctx, "payment", selectPaymentAccount, string(id))
	if err != nil || found || !domain.ValidID(string(id)) {
		return account, found, err
	}
	if owners := p.Accounts(); len(owners) <= maxOwners {
		return p.paymentOwner(ctx, owners, id)
	}
	return p.awaitOwner(ctx, "payment", selectPaymentAccount, string(id))
}

func (p *Projections) paymentOwner(ctx context.Context, owners []account.State, id domain.PaymentID) (domain.AccountID, bool, error) {
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

// ownerRow returns the account in the row of an id; false: the read model has no such row.
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

// awaitOwner waits for the end of an id's shard as of the call, ownerWait at most, and reads the row again.
func (p *Projections) awaitOwner(ctx context.Context, what, query, id string) (domain.AccountID, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, ownerWait)
	defer cancel()
	if err := p.shardCaughtUp(ctx, domain.Shard(id, p.Store.Shards())); err != nil {
		return "", false, unavailable(err)
	}
	return p.ownerRow(ctx, what, query, id)
}

// tipReaders is the number of aggregates of a page that are read from the store at a time.
const tipReaders = 8

// rowKey is the aggregate of a row, and the revision that the row shows.
type rowKey struct {
	key      eventstore.Key
	revision uint64
}

func readRows[T any](ctx context.Context, m *model, read func(sqlitefile.Scan) (T, error), query string, args ...any) ([]T, error) {
	all, err := sqlitefile.Read(ctx, m.Readers(), read, query, args...)
	return all, m.Noticed(err)
}

// rowsOf runs a query of the model in use and reads each of its rows. what names the rows in an error.
func rowsOf[T any](ctx context.Context, p *Projections, what string, read func(sqlitefile.Scan) (T, error), query string, args ...any) ([]T, error) {
	m, done := p.reading()
	defer done()
	all, err := readRows(ctx, m, read, query, args...)
	if err != nil {
		return nil, fmt.Errorf("projections: %s: %w", what, err)
	}
	return all, nil
}

// readKeys runs a query of ids and revisions, and returns the rows' aggregates.
func readKeys(ctx context.Context, m *model, key func(id string) eventstore.Key, query string, args ...any) ([]rowKey, error) {
	return readRows(ctx, m, func(scan sqlitefile.Scan) (row rowKey, err error) {
		var id string
		err = scan(&id, &row.revision)
		row.key = key(id)
		return row, err
	}, query, args...)
}

// tips reads the newest states of the rows' aggregates, in the order of the rows. No state is older than its row.
func tips[S any, E domain.Event](ctx context.Context, store *eventstore.Store, a *eventstore.Aggregate[S, E], rows []rowKey) ([]S, error) {
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

// errAhead means that a row shows an event that the log does not have.
var errAhead = errors.New("projections: the read model is ahead of the log")

// tipOf reads one state. If a replica of the log is behind this node's views, it reads from the leader.
func tipOf[S any, E domain.Event](ctx context.Context, store *eventstore.Store, a *eventstore.Aggregate[S, E], row rowKey) (S, error) {
	tip, err := eventstore.Load(ctx, store, a, row.key, eventstore.AllowStale)
	if err != nil || tip.Recorded == nil || tip.Recorded.Revision < row.revision {
		tip, err = eventstore.Load(ctx, store, a, row.key, eventstore.Latest)
	}
	if err == nil && (tip.Recorded == nil || tip.Recorded.Revision < row.revision) {
		err = fmt.Errorf("%w: %s revision %d was applied", errAhead, row.key, row.revision)
	}
	return tip.State, err
}

// Statistics counts the payments of an account that were created from one day to another, both included (D20). It has everything
// that this node acknowledged before the call.
func (p *Projections) Statistics(ctx context.Context, account domain.AccountID, from, to statistics.Day) (statistics.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	if err := p.appendedHere(ctx); err != nil {
		return statistics.Report{}, unavailable(err)
	}
	m, done := p.reading()
	defer done()
	report, err := statistics.Read(ctx, m.Readers(), account, from, to)
	if err != nil {
		return report, unavailable(m.Noticed(err))
	}
	return report, nil
}

// AuditPage is a page of the audit log, newest first; Next is nil at its end.
type AuditPage struct {
	Data []auditlog.Entry
	Next *auditlog.Place
}

// ListAudit reads a page of at most limit entries of an account's audit log, newest first, after from; nil is the newest end. It
// has everything that this node acknowledged before the call.
func (p *Projections) ListAudit(ctx context.Context, account domain.AccountID, f auditlog.Filter, from *auditlog.Place, limit int) (AuditPage, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	if err := p.appendedHere(ctx); err != nil {
		return AuditPage{}, unavailable(err)
	}
	m, done := p.reading()
	defer done()
	reader := &auditlog.Reader{Store: p.Store, DB: m.Readers(), Account: account}
	rows, err := reader.List(ctx, f, from, limit+1)
	if err != nil {
		return AuditPage{}, unavailable(m.Noticed(err))
	}
	var page AuditPage
	if len(rows) > limit {
		rows = rows[:limit]
		page.Next = &auditlog.Place{At: time.UnixMicro(rows[limit-1].At).UTC(), ID: rows[limit-1].ID}
	}
	page.Data, err = reader.Entries(ctx, rows)
	if err != nil {
		return AuditPage{}, unavailable(m.Noticed(err))
	}
	return page, nil
}

// PaymentsOfTransaction reads at most limit payments of an account with a transaction of this id at a processor, the newest first. It
// has everything that this node acknowledged before the call.
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
