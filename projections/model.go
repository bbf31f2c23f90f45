package projections

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/rs/zerolog"

	"payledger/eventstore"
	"payledger/projections/sqlitefile"
)

// model is one read model: the file and its places. One goroutine calls apply; any goroutine may read the file. A rebuild is
// a second model beside the first, applied from zero.
type model struct {
	*sqlitefile.File
	store      *eventstore.Store
	places     []place
	statements statements
	directory  directory
	sizes      sizes
	blocks     blockList
	packer     *packer // nil: it has to be loaded from the file
}

// statements are prepared once on the writing connection.
type statements struct {
	position                     *sql.Stmt
	insertPayment, updatePayment *sql.Stmt
	upsertSession, upsertAccount *sql.Stmt
	upsertInstrument             *sql.Stmt
	upsertAttempt, deleteAttempt *sql.Stmt
	upsertDispute                *sql.Stmt
	upsertInbox, deleteInbox     *sql.Stmt
	upsertRun                    *sql.Stmt
	updatePaymentRow             *sql.Stmt
	selectBlock, selectColumn    *sql.Stmt
	insertBlock, insertColumn    *sql.Stmt
	updateColumn, insertKind     *sql.Stmt
}

// openModel opens the read model at path. A file that is absent, damaged or of another identity is created, and the log
// has to be applied to it from the start.
func openModel(ctx context.Context, path string, store *eventstore.Store, shards int, log zerolog.Logger) (*model, error) {
	return sqlitefile.Rebuilt(path, log, func() (*model, error) {
		file, err := sqlitefile.Open(ctx, path, fileIdentity(shards), tables, log)
		if err != nil {
			return nil, err
		}
		m := &model{File: file, store: store, sizes: usualSizes, places: make([]place, shards)}
		if err = m.prepare(ctx); err == nil {
			err = m.loadPlaces(ctx)
		}
		if err != nil {
			return nil, errors.Join(m.Noticed(err), m.Close())
		}
		return m, nil
	})
}

func (m *model) prepare(ctx context.Context) error {
	s := &m.statements
	return m.Prepare(ctx, map[**sql.Stmt]string{
		&s.position: upsertPosition, &s.insertPayment: insertPayment, &s.updatePayment: updatePayment,
		&s.upsertSession: upsertSession, &s.upsertAccount: upsertAccount,
		&s.upsertInstrument: upsertInstrument, &s.upsertAttempt: upsertAttempt, &s.deleteAttempt: deleteAttempt,
		&s.upsertDispute: upsertDispute, &s.upsertInbox: upsertInbox, &s.deleteInbox: deleteInbox,
		&s.upsertRun: upsertRun, &s.updatePaymentRow: updatePaymentRow,
		&s.selectBlock: selectBlock, &s.selectColumn: selectColumn, &s.insertBlock: insertBlock,
		&s.insertColumn: insertColumn, &s.updateColumn: updateColumn, &s.insertKind: insertKind,
	})
}

func (m *model) loadPlaces(ctx context.Context) error {
	rows, err := m.Writer().QueryContext(ctx, selectPositions)
	if err != nil {
		return fmt.Errorf("projections: positions: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var shard int
		var at place
		var hash []byte
		if err := rows.Scan(&shard, &at.seq, &at.number, &hash); err != nil {
			return fmt.Errorf("projections: positions: %w", err)
		}
		if shard < 0 || shard >= len(m.places) || len(hash) != len(at.hash) {
			return fmt.Errorf("%w: a position of shard %d", sqlitefile.ErrStale, shard)
		}
		copy(at.hash[:], hash)
		m.places[shard] = at
	}
	return rows.Err()
}

// positions returns the address of the last applied event of each shard.
func (m *model) positions() []uint64 {
	seqs := make([]uint64, len(m.places))
	for shard, at := range m.places {
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

// apply folds events and writes the resulting rows and places in one transaction: a crash leaves all of it or nothing. At an
// event that cannot be applied it stops, writes everything before the event, and returns a *poison.
func (m *model) apply(ctx context.Context, events []*eventstore.Recorded) error {
	b := batch{places: slices.Clone(m.places)}
	var bad error
	for _, r := range events {
		if err := b.fold(ctx, m.store, r); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			bad = &poison{event: r, err: err}
			break
		}
	}
	if b.events > 0 {
		err := sqlitefile.WhenRoom(ctx, func() error { return m.write(context.WithoutCancel(ctx), &b) })
		if err != nil {
			return m.Noticed(err)
		}
		m.places = b.places
		m.directory.update(b.accounts.list)
	}
	return bad
}
