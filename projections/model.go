package projections

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/payment"
	"payledger/domain/session"
	"payledger/eventstore"
	"payledger/eventstore/commands/pending"
	"payledger/projections/auditlog"
	"payledger/projections/sqlitefile"
	"payledger/projections/statistics"
	"payledger/projections/transactions"
)

// model is one read model: the file and its places. One goroutine calls apply; any may read. A
// rebuild is a second model.
type model struct {
	*sqlitefile.File
	store     eventstore.Store
	places    []place
	directory *directory
	sizes     sizes
	blocks    blockList
	packer    *packer             // nil: it has to be loaded from the file
	counter   *statistics.Counter // nil: the last transaction failed, or there was none
	erasures  bool                // somebody was erased

	reads   int  // under way; Projections.switching guards both
	retired bool // another model is in use
}

// openModel opens the read model at path. An absent, damaged or other file is created: the log has
// to be applied from the start.
func openModel(ctx context.Context, path string, store eventstore.Store, shards int, log zerolog.Logger) (*model, error) {
	return sqlitefile.Rebuilt(path, log, func() (*model, error) {
		file, err := sqlitefile.Open(ctx, path, Identity(shards), Tables, log)
		if err != nil {
			return nil, err
		}
		return modelOf(ctx, file, store, shards)
	})
}

// modelOf returns the read model in a file. After an error the file is closed.
func modelOf(ctx context.Context, file *sqlitefile.File, store eventstore.Store, shards int) (*model, error) {
	m := &model{File: file, store: store, directory: newDirectory(), sizes: usualSizes, places: make([]place, shards)}
	err := m.prepare(ctx)
	if err == nil {
		err = m.loadPlaces(ctx)
	}
	if err == nil {
		err = m.Writer().QueryRowContext(ctx, selectAnyPerson).Scan(&m.erasures)
	}
	if err != nil {
		return nil, errors.Join(m.Noticed(err), m.Close())
	}
	return m, nil
}

func (m *model) prepare(ctx context.Context) error {
	texts := []string{
		upsertPosition, insertPayment, updatePayment, updatePaymentRow, insertNaming, selectBlock, selectColumn, insertBlock, insertColumn,
		updateColumn, insertKind, upsertPerson, selectErased, eraseCustomer, eraseGuest, auditlog.Insert, transactions.Insert,
	}
	texts = append(texts, statistics.Statements()...)
	for _, a := range aggregates {
		texts = append(texts, a.statements...)
	}
	return m.Prepare(ctx, texts...)
}

func (m *model) loadPlaces(ctx context.Context) error {
	return sqlitefile.Rows(m.Writer().QueryContext(ctx, selectPositions)).Each(func(scan sqlitefile.Scan) error {
		var shard int
		var at place
		var hash []byte
		if err := scan(&shard, &at.seq, &at.number, &hash); err != nil {
			return fmt.Errorf("projections: positions: %w", err)
		}
		if shard < 0 || shard >= len(m.places) || len(hash) != len(at.hash) {
			return fmt.Errorf("%w: a position of shard %d", sqlitefile.ErrStale, shard)
		}
		copy(at.hash[:], hash)
		m.places[shard] = at
		return nil
	})
}

func (m *model) positions() []uint64 { return seqsOf(m.places) }

func seqsOf(places []place) []uint64 {
	seqs := make([]uint64, len(places))
	for shard, at := range places {
		seqs[shard] = at.seq
	}
	return seqs
}

// poison is the error for an event that cannot be applied: the projection stops before it.
type poison struct {
	event *eventstore.Recorded
	err   error
}

func (p *poison) Error() string {
	e := p.event
	return fmt.Sprintf("projections: cannot apply shard %d sequence %d, %s revision %d, %s: %v",
		e.Shard, e.Seq, e.Key, e.Revision, e.Type, p.err)
}

func (p *poison) Unwrap() error { return p.err }

// apply folds events and writes the resulting rows and places in one transaction: a crash leaves
// all of it or nothing. At an event that cannot be applied it stops, writes everything before the
// event, and returns a *poison.
func (m *model) apply(ctx context.Context, events []*eventstore.Recorded) error {
	b, bad := folded(ctx, m.store, m.places, events)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return cmp.Or(m.add(ctx, b), bad)
}

func (m *model) add(ctx context.Context, b *batch) error {
	if b.events == 0 {
		return nil
	}
	err := sqlitefile.WhenRoom(ctx, func() error { return m.write(context.WithoutCancel(ctx), b) })
	if err != nil {
		return m.Noticed(err)
	}
	m.places = b.places
	m.directory.update(b.accounts.list)
	return nil
}

func (m *model) write(ctx context.Context, b *batch) error {
	err := m.Transact(ctx, func() error {
		if err := m.writeRows(ctx, b); err != nil {
			return err
		}
		return m.writePlaces(ctx, b)
	})
	if err != nil {
		m.packer, m.counter = nil, nil
		return fmt.Errorf("projections: %w", err)
	}
	return nil
}

func (m *model) writeRows(ctx context.Context, b *batch) error {
	if m.counter == nil {
		m.counter = statistics.NewCounter(m.Statements)
	}
	if err := m.writePersons(ctx, b); err != nil { // before payments: an erasure empties rows that are there
		return err
	}
	if err := m.writePayments(ctx, b); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(aggregates)) {
		a := aggregates[name]
		if len(a.statements) == 0 {
			continue
		}
		if err := a.write(ctx, m, b); err != nil {
			return err
		}
	}
	if err := m.countSteps(ctx, b); err != nil {
		return err
	}
	return m.writeNotes(ctx, b) // after payments: it names their rows
}

// writeRowsOf writes the newest rows of one kind of aggregate. Without a row it runs the second
// statement, if there is one.
func writeRowsOf[S any](ctx context.Context, m *model, vs *views[S], row func(*view[S]) []any, statements []string) (err error) {
	for i := range vs.list {
		v := &vs.list[i]
		if values := row(v); values != nil {
			_, err = m.Statements[statements[0]].ExecContext(ctx, values...)
		} else if len(statements) > 1 {
			_, err = m.Statements[statements[1]].ExecContext(ctx, v.key.ID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (m *model) writeNotes(ctx context.Context, b *batch) error {
	for _, n := range b.namings {
		if _, err := m.Statements[insertNaming].ExecContext(ctx, string(n.account), n.customer, string(n.session), n.since.UnixMicro()); err != nil {
			return err
		}
	}
	for _, row := range b.charged {
		if _, err := m.Statements[transactions.Insert].ExecContext(ctx, row.Code, string(row.Payment)); err != nil {
			return err
		}
	}
	for _, row := range b.audit {
		if _, err := m.Statements[auditlog.Insert].ExecContext(ctx, row.Values()...); err != nil {
			return err
		}
	}
	return nil
}

func accountRow(v *view[account.State]) []any { return []any{v.key.ID, int64(v.revision)} }

func sessionRow(v *view[session.State]) []any {
	return []any{v.key.ID, string(v.key.Account), v.state.ExpiresAt.UnixMicro(), v.state.CustomerID, v.state.CreatedAt.UnixMicro()}
}

func (m *model) writePlaces(ctx context.Context, b *batch) error {
	for shard, at := range b.places {
		if at.seq == m.places[shard].seq {
			continue
		}
		if _, err := m.Statements[upsertPosition].ExecContext(ctx, int64(shard), int64(at.seq), int64(at.number), at.hash[:]); err != nil {
			return err
		}
	}
	return nil
}

func (m *model) writePayments(ctx context.Context, b *batch) error {
	if len(b.payments.list) == 0 {
		return nil
	}
	if err := m.loadPacker(ctx); err != nil {
		return err
	}
	for i := range b.payments.list {
		v := &b.payments.list[i]
		if !v.state.Exists() {
			continue // it only claims an idempotency key
		}
		if err := m.writePayment(ctx, v); err != nil {
			return err
		}
	}
	return m.pack(ctx)
}

// writePayment writes the row of a payment, and counts its change.
func (m *model) writePayment(ctx context.Context, v *view[payment.State]) error {
	id, facts := domain.PaymentID(v.key.ID), statistics.FactsOf(&v.state)
	if v.before == 0 {
		if err := m.insertPayment(ctx, v); err != nil {
			return err
		}
		return m.counter.Payment(ctx, v.key.Account, id, nil, facts)
	}
	before, err := m.counter.Before(ctx, id)
	if errors.Is(err, sql.ErrNoRows) {
		return misfit(v)
	}
	if err == nil {
		err = m.updatePayment(ctx, v)
	}
	if err != nil {
		return err
	}
	return m.counter.Payment(ctx, v.key.Account, id, &before, facts)
}

// countSteps counts the new sessions and cards of a batch, and writes its counts.
func (m *model) countSteps(ctx context.Context, b *batch) error {
	for i := range b.sessions.list {
		if v := &b.sessions.list[i]; v.before == 0 {
			if err := m.counter.Session(ctx, v.key.Account, v.state.CreatedAt); err != nil {
				return err
			}
		}
	}
	for i := range b.instruments.list {
		if v := &b.instruments.list[i]; v.before == 0 {
			if err := m.counter.Card(ctx, v.key.Account, v.state.CreatedAt); err != nil {
				return err
			}
		}
	}
	return m.counter.Write(ctx)
}

func (m *model) insertPayment(ctx context.Context, v *view[payment.State]) error {
	row := paymentRow(v)
	erased, err := m.erasedBefore(ctx, v)
	if err != nil {
		return err
	}
	if erased {
		row[emailColumn] = ""
	}
	result, err := m.Statements[insertPayment].ExecContext(ctx, row...)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		return errors.Join(misfit(v), err)
	}
	m.packer.rows, err = result.LastInsertId()
	return err
}

const emailColumn = 18

// paymentRow returns the values of a payment's row, in the order of the table's columns; nil for
// the claim of an idempotency key.
func paymentRow(v *view[payment.State]) []any {
	s := &v.state
	if !s.Exists() {
		return nil
	}
	target, due := targetOf(s), waitingOf(s)
	return []any{
		v.key.ID, string(v.key.Account), int64(v.shard),
		int64(v.seq), int64(v.revision), s.CreatedAt.UnixMicro(), s.UpdatedAt.UnixMicro(), string(s.Status()),
		s.OrderID, s.CustomerID, string(s.Session), string(s.Currency), int64(s.Amount), string(target.Processor),
		target.MerchantID, s.Method.Type, s.Method.Card.Last4Digits, string(s.Method.Card.Network),
		s.EmailHash, int64(s.KeyNumber), due.at, due.slot, due.state, due.kind,
		statistics.Tries(s), int64(s.Captured()), int64(s.Refunded()), statistics.CountryOf(s), statistics.ReasonOf(s), int64(statistics.ChallengeOf(s)),
	}
}

// updatePayment updates the row of a payment. It also gives the packer the row of a payment that is
// old enough for a block.
func (m *model) updatePayment(ctx context.Context, v *view[payment.State]) error {
	s := &v.state
	target, due := targetOf(s), waitingOf(s)
	args := []any{
		int64(v.seq), int64(v.revision), s.UpdatedAt.UnixMicro(), string(s.Status()), int64(s.Amount), string(target.Processor),
		target.MerchantID, due.at, due.slot, due.state, due.kind,
		statistics.Tries(s), int64(s.Captured()), int64(s.Refunded()), statistics.CountryOf(s), statistics.ReasonOf(s), int64(statistics.ChallengeOf(s)),
		v.key.ID, int64(v.before),
	}
	if s.CreatedAt.UnixMicro() <= m.packer.newest {
		var row int64
		err := m.Statements[updatePaymentRow].QueryRowContext(ctx, args...).Scan(&row)
		if errors.Is(err, sql.ErrNoRows) {
			return misfit(v)
		}
		m.packer.changed(row, v)
		return err
	}
	result, err := m.Statements[updatePayment].ExecContext(ctx, args...)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		return errors.Join(misfit(v), err)
	}
	return nil
}

func misfit(v *view[payment.State]) error {
	return fmt.Errorf("%w: %s revision %d does not fit what is there", sqlitefile.ErrStale, v.key, v.revision)
}

func targetOf(s *payment.State) (target payment.Target) {
	if op := s.Authorization(); op != nil {
		target = op.Target
	}
	return target
}

// waiting has the due columns of a payment's row; all are nil if the payment waits for nothing.
type waiting struct{ at, slot, state, kind any }

// waitingOf returns the first operation without an outcome, or else the action of the customer.
func waitingOf(s *payment.State) (w waiting) {
	for _, op := range s.Operations {
		if op.State.Open() {
			return waiting{op.RequestedAt.UnixMicro(), pending.Slot(op.RequestedAt), string(op.State), string(op.Kind)}
		}
	}
	if action := s.RequiredAction(); action != nil {
		held, _ := s.Operation(action.Revision)
		return waiting{action.ExpiresAt.UnixMicro(), nil, string(payment.StateAction), string(held.Kind)}
	}
	return w
}
