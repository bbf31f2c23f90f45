package projections

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/projections/sqlitefile"
)

// tipReaders is the number of aggregates of a page that are read from the store at a time.
const tipReaders = 8

// rowKey is the aggregate of a row, and the revision that the row shows.
type rowKey struct {
	key      eventstore.Key
	revision uint64
}

// readRows runs a query and reads each of its rows.
func readRows[T any](ctx context.Context, m *model, read func(sqlitefile.Scan) (T, error), query string, args ...any) ([]T, error) {
	all, err := sqlitefile.Read(ctx, m.Readers(), read, query, args...)
	return all, m.Noticed(err)
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
