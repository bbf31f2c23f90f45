package engine

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"payledger/eventstore/fault"
	"payledger/eventstore/format"
	"payledger/eventstore/tiprow"
	"payledger/eventstore/tipstore"
)

// withLeft returns the state after r with the parts moved out of it. If the tip store lacks some of them, because an older
// schema wrote the events, withLeft folds the events again.
func (s *Store) withLeft(ctx context.Context, a *format.Core, r *format.Recorded, state any) (any, error) {
	if newest, ok := s.recent.Get(r.Key); ok && newest.Revision >= r.Revision {
		if newer := newest.State(); a.Made(newer) && a.Whole(newer) {
			if earlier := a.Earlier(state, newer); a.Whole(earlier) {
				return earlier, nil
			}
		}
	}
	state, err := s.withRows(a, r, state)
	if err == nil && !a.Whole(state) {
		var events []*format.Recorded
		if events, err = s.Since(ctx, r, 0); err == nil {
			state, err = a.FoldAll(events)
		}
	}
	if err == nil {
		s.shard[r.Shard].remember(r, state)
	}
	return state, err
}

// remember caches the state of an aggregate's newest event, with the parts moved out of it.
func (h *shard) remember(r *format.Recorded, state any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if newest := h.known(r.Key); newest != nil && newest.Revision == r.Revision {
		h.s.recent.Put(r.Key, newest.WithState(state))
	}
}

// withRows is withLeft with only the parts in the tip store and in memory.
func (s *Store) withRows(a *format.Core, r *format.Recorded, state any) (any, error) {
	if a.Whole(state) {
		return state, nil
	}
	rows, err := s.leftRows(r.Shard, r.Key, r.Revision)
	if err != nil {
		return state, err
	}
	state, err = a.Join(state, rows)
	if err != nil {
		return state, s.unreadable(r.Key, fmt.Errorf("%w: %w", tipstore.ErrDamaged, err))
	}
	return state, nil
}

// leftRows returns the parts moved out of an aggregate's state up to a revision, oldest first.
func (s *Store) leftRows(shard int, key format.Key, revision uint64) (rows []format.LeftRow, err error) {
	recent := s.shard[shard].leftInMemory(key) // before the tip store is read: rows that are flushed meanwhile are in both
	view := s.tips.Snapshot()
	defer view.Close()
	err = view.Range(tiprow.LeftKey(key, 0), tiprow.LeftKey(key, revision+1), func(k, value []byte) error {
		rows = append(rows, format.LeftRow{Revision: binary.BigEndian.Uint64(k[len(k)-8:]), Data: bytes.Clone(value)})
		return nil
	})
	if err != nil {
		return nil, s.unreadable(key, err)
	}
	for _, row := range recent {
		if row.Revision <= revision && (len(rows) == 0 || row.Revision > rows[len(rows)-1].Revision) {
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// unreadable returns the error for a failed read of the tip store, and marks the log as unhealthy.
func (s *Store) unreadable(at any, err error) error {
	remedy := s.tips.Remedy(err)
	if !s.closing.Load() {
		err = fmt.Errorf("%w: the tip store cannot be read at %v: %w; %s", fault.ErrUnhealthy, at, err, remedy)
		s.markUnhealthy(err, false)
	}
	return err
}

// leftInMemory returns the rows of an aggregate that are not yet in the tip store, oldest first.
func (h *shard) leftInMemory(key format.Key) []format.LeftRow {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.tips.Left(key)
}
