package eventstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"payledger/domain"
	"payledger/eventstore/tipstore"
)

// Leaving ties an aggregate whose events let parts of its state go to the parts that left. An event carries what left
// with it beside the state, once; the tip store keeps it as a row of its own; whoever loads the state has all of it again.
type Leaving[S any] struct {
	Newest  func(S) (left any, some bool) // what left with the state's newest event
	Whole   func(S) bool                  // all that left is in memory with the state
	Join    func(S, []LeftRow) (S, error) // the state with what left, oldest first
	Earlier func(s, newer S) S            // the state with what left it, which is a part of what left a newer one
}

// LeftRow is what left an aggregate's state with one event.
type LeftRow struct {
	Revision uint64
	Data     []byte // as Unmarshal reads it
}

// letting returns the aggregate, whose events let parts of its state go.
func (a *Aggregate[S, E]) letting(l Leaving[S]) *Aggregate[S, E] {
	a.leaving = &l
	return a
}

// whole reports whether nothing is missing that left the state.
func (a *Aggregate[S, E]) whole(state S) bool { return a.leaving == nil || a.leaving.Whole(state) }

// withLeft returns the state after r with what left it. Where the tip store does not have all of it, because an older
// schema wrote the events, the events are folded again.
func withLeft[S any, E domain.Event](ctx context.Context, s *Store, a *Aggregate[S, E], r *Recorded, state S) (S, error) {
	if newest := s.recent.get(r.Key); newest != nil && newest.Revision >= r.Revision {
		if newer, made := newest.state.(S); made && a.whole(newer) {
			if earlier := a.leaving.Earlier(state, newer); a.whole(earlier) {
				return earlier, nil
			}
		}
	}
	state, err := withRows(s, a, r, state)
	if err == nil && !a.whole(state) {
		var events []*Recorded
		if events, err = s.walk(ctx, r, 0); err == nil {
			state, err = a.Fold(events)
		}
	}
	if err == nil {
		s.shard[r.Shard].remember(r, state)
	}
	return state, err
}

// remember keeps the state of an aggregate's newest event in memory, with what left it.
func (h *shard) remember(r *Recorded, state any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if newest := h.known(r.Key); newest != nil && newest.Revision == r.Revision {
		c := *newest
		c.state = state
		h.s.recent.put(&c)
	}
}

// withRows is withLeft for what the tip store and the memory have.
func withRows[S any, E domain.Event](s *Store, a *Aggregate[S, E], r *Recorded, state S) (S, error) {
	if a.whole(state) {
		return state, nil
	}
	rows, err := s.leftRows(r.Shard, r.Key, r.Revision)
	if err != nil {
		return state, err
	}
	state, err = a.leaving.Join(state, rows)
	if err != nil {
		return state, s.unreadable(r.Key, fmt.Errorf("%w: %w", tipstore.ErrDamaged, err))
	}
	return state, nil
}

const leftPrefix = 'h'

// leftKey is the row's key in the tip store: "h", the aggregate as in its tip's key, 0, the revision.
func leftKey(key Key, revision uint64) []byte {
	b := append(tipKey(key), 0)
	b[0] = leftPrefix
	return binary.BigEndian.AppendUint64(b, revision)
}

// leftRows returns what left an aggregate's state up to a revision, oldest first.
func (s *Store) leftRows(shard int, key Key, revision uint64) (rows []LeftRow, err error) {
	recent := s.shard[shard].leftInMemory(key) // before the tip store is read: what is flushed meanwhile is in both
	s.tipsOpen.RLock()
	defer s.tipsOpen.RUnlock()
	if s.tipsClosed {
		return nil, fmt.Errorf("%w: the store was closed", ErrUnhealthy)
	}
	view := s.tips.Snapshot()
	defer view.Close()
	err = view.Range(leftKey(key, 0), leftKey(key, revision+1), func(k, value []byte) error {
		rows = append(rows, LeftRow{binary.BigEndian.Uint64(k[len(k)-8:]), bytes.Clone(value)})
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

// unreadable says that the tip store could not be read.
func (s *Store) unreadable(key Key, err error) error {
	if errors.Is(err, tipstore.ErrDamaged) {
		s.tips.Condemn()
	}
	if !s.closing.Load() {
		err = fmt.Errorf("%w: the tip store cannot be read at %s: %w; a restart makes it again from the log", ErrUnhealthy, key, err)
		s.fail(err, false)
	}
	return err
}

// unwritten are the rows that are applied and not yet in the tip store.
type unwritten struct{ dirty, flushing map[Key][]LeftRow }

// add takes what left with r, and returns the bytes of memory that it takes.
func (u *unwritten) add(r *Recorded) int {
	if len(r.Body) == 0 || r.Body[0] != bodyHeadLeft[0] {
		return 0
	}
	_, left, err := r.parts()
	if err != nil || left == nil {
		return 0
	}
	if u.dirty == nil {
		u.dirty = map[Key][]LeftRow{}
	}
	u.dirty[r.Key] = append(u.dirty[r.Key], LeftRow{r.Revision, bytes.Clone(left)})
	return len(left) + leftRowSize
}

// leftRowSize is about the memory that a row takes beside its data, in bytes.
const leftRowSize = 120

// flush takes the rows to be written.
func (u *unwritten) flush() { u.flushing, u.dirty = u.dirty, nil }

// leftInMemory returns the rows of an aggregate that are not yet in the tip store, oldest first.
func (h *shard) leftInMemory(key Key) []LeftRow {
	h.mu.Lock()
	defer h.mu.Unlock()
	flushing, dirty := h.left.flushing[key], h.left.dirty[key]
	return append(flushing[:len(flushing):len(flushing)], dirty...)
}

// writeLeft adds rows to a batch.
func writeLeft(batch tipstore.Batch, all map[Key][]LeftRow) error {
	for key, rows := range all {
		for _, row := range rows {
			if err := batch.Set(leftKey(key, row.Revision), row.Data); err != nil {
				return err
			}
		}
	}
	return nil
}

// light returns the group with light events, and what it takes in memory: only the cache of newest events keeps much of what
// left a state, and bounds it.
func (g *group) light() *group {
	c := *g
	c.held = g.size
	if slices.ContainsFunc(g.frames, func(r *Recorded) bool { return r.weight() >= heavyFrom }) {
		c.frames = make([]*Recorded, 0, len(g.frames))
		for _, r := range g.frames {
			c.frames = append(c.frames, r.light())
		}
	}
	for _, r := range c.frames {
		c.held += r.weight()
	}
	return &c
}
