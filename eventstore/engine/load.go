package engine

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/fault"
	"payledger/eventstore/format"
	"payledger/eventstore/tiprow"
	"payledger/eventstore/tipstore"
)

// ShardOf returns the shard of an aggregate.
func (s *Store) ShardOf(key format.Key) int { return domain.Shard(key.ID, s.shards) }

// Accepts implements eventstore.Health.
func (s *Store) Accepts(key format.Key) error { return s.writable(s.shard[s.ShardOf(key)]) }

// Patience implements eventstore.Health.
func (s *Store) Patience() time.Duration { return s.api.Patience() }

// Load implements eventstore.Tips.
func (s *Store) Load(ctx context.Context, key format.Key, consistency eventstore.Consistency) (*format.Recorded, error) {
	if err := key.Valid(); err != nil {
		return nil, fmt.Errorf("%w: %w", fault.ErrNotFound, err)
	}
	if consistency == eventstore.Majority {
		ctx = eventstore.Reading(ctx, eventstore.Majority)
	}
	if eventstore.Demands(ctx, eventstore.Majority) {
		consistency = eventstore.Majority
	}
	h := s.shard[s.ShardOf(key)]
	known := s.nodes.Load()
	leased := consistency == eventstore.Leased && known != nil && !s.majority
	if consistency != eventstore.Applied && !leased {
		if err := h.catchUp(ctx, key); err != nil {
			return nil, err
		}
	}
	r, err := h.tip(key)
	switch {
	case leased && !eventstore.Demands(ctx, eventstore.Applied) && (*known).Valid() != nil:
		return s.Load(ctx, key, eventstore.Latest)
	case err != nil:
		return nil, err
	case r != nil:
		return r, nil
	}
	if err := h.healthy(); err != nil { // the damaged part of the log may hold the aggregate
		return nil, err
	}
	return nil, fault.ErrNotFound
}

// Known implements eventstore.Tips.
func (s *Store) Known(key format.Key) (*format.Recorded, error) {
	return s.shard[s.ShardOf(key)].tip(key)
}

// Read implements eventstore.Events.
func (s *Store) Read(ctx context.Context, shard int, address uint64) (*format.Recorded, error) {
	if shard < 0 || shard >= s.shards {
		return nil, fmt.Errorf("%w: shard %d address %d", fault.ErrNotFound, shard, address)
	}
	return s.shard[shard].Record(ctx, address)
}

// Record returns the event at an address. ErrNotFound: there is none. ErrDropped: if there was one,
// it was dropped.
func (h *shard) Record(ctx context.Context, address uint64) (*format.Recorded, error) {
	return h.eventAt(ctx, address, h.Group)
}

// eventAt is Record with the function that reads the group.
func (h *shard) eventAt(ctx context.Context, address uint64, read func(context.Context, uint64) (*format.Group, error)) (*format.Recorded, error) {
	group := format.GroupOf(address)
	switch {
	case group == 0:
		return nil, fmt.Errorf("%w: shard %d address %d", fault.ErrNotFound, h.n, address)
	case h.dropped(group):
		return nil, fault.ErrDropped
	}
	end, err := h.reach(ctx, group)
	if err != nil {
		return nil, err
	}
	if group > end {
		return nil, fault.ErrNotFound
	}
	g, err := read(ctx, group)
	if err != nil {
		return nil, err
	}
	if format.FrameOf(address) >= len(g.Frames) {
		return nil, fmt.Errorf("%w: group %d has %d events", fault.ErrNotFound, g.Seq, len(g.Frames))
	}
	return g.Frames[format.FrameOf(address)], nil
}

// LastSeq implements eventstore.Events.
func (s *Store) LastSeq(ctx context.Context, shard int) (uint64, error) {
	h := s.shard[shard]
	if err := h.CatchUp(ctx); err != nil {
		return 0, err
	}
	end, _ := h.end()
	return end.Last, nil
}

// Appended implements eventstore.Events.
func (s *Store) Appended() []uint64 {
	position := make([]uint64, s.shards)
	for shard, h := range s.shard {
		end, _ := h.end()
		position[shard] = end.Last
	}
	return position
}

// Events implements eventstore.Events.
func (s *Store) Events() (n uint64) {
	for _, h := range s.shard {
		end, _ := h.end()
		n += end.Events
	}
	return n
}

// Size is what the log takes on the disk.
type Size struct {
	Bytes      uint64 // of the groups, as the server counts them
	Groups     uint64
	Events     uint64
	EventBytes int // mean size of an event before compression, over the groups in memory
}

// Size returns what the log takes on the disk, without deliveries.
func (s *Store) Size(ctx context.Context) (Size, error) {
	var all Size
	segments, err := s.listSegments(ctx)
	if err != nil {
		return all, err
	}
	for n := range s.shards {
		for _, info := range segments[n] {
			all.Bytes, all.Groups = all.Bytes+info.State.Bytes, all.Groups+info.State.Msgs
		}
	}
	events, size := 0, 0
	for _, h := range s.shard {
		h.mu.Lock()
		all.Events += h.head.Events
		n, bytes := h.recentGroups.EventBytes()
		h.mu.Unlock()
		events, size = events+n, size+bytes
	}
	all.EventBytes = size / max(1, events)
	return all, nil
}

// tip returns the newest acknowledged event of an aggregate; nil when there is none. The shard
// remembers that there is none until the first event of the aggregate: an account without workflows
// is looked up for each batch of its events.
func (h *shard) tip(key format.Key) (*format.Recorded, error) {
	h.mu.Lock()
	r, absent, applied := h.tipInMemory(key), h.tips.Absent(key), h.head.Seq
	h.mu.Unlock()
	if r != nil || absent {
		return r, nil
	}
	r, err := h.s.storedTip(h.n, key, false)
	if r == nil && err == nil {
		h.noteAbsent(key, applied)
	}
	return r, err
}

// noteAbsent remembers that an aggregate did not exist when a group was the last applied one.
func (h *shard) noteAbsent(key format.Key, applied uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.head.Seq == applied { // else the first event may have come meanwhile
		h.tips.NoteAbsent(key)
	}
}

// storedTip reads a tip from the tip store. It returns nil if the store has none; fresh: the tip is
// probably missing.
func (s *Store) storedTip(shard int, key format.Key, fresh bool) (*format.Recorded, error) {
	generation := s.recentEvents.Generation()
	get := s.tips.Get
	if fresh {
		get = s.tips.Find
	}
	r, err := tiprow.Get(get, shard, key)
	switch {
	case errors.Is(err, tipstore.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, s.unreadable(key, err)
	}
	s.recentEvents.PutSince(r.Key, r, generation)
	return r, nil
}

// Newest implements eventstore.Tips.
func (s *Store) Newest(ctx context.Context, account domain.AccountID, aggregate string, begin func(total uint64), handle func(*format.Recorded) error) error {
	if account != eventstore.EveryAccount && !domain.ValidID(string(account)) || !domain.ValidID(aggregate) {
		return fmt.Errorf("%w: %s.%s", fault.ErrNotFound, account, aggregate)
	}
	newer := map[format.Key]*format.Recorded{} // the tip store does not have them yet
	for _, h := range s.shard {
		if err := h.CatchUp(ctx); err != nil {
			return err
		}
		if err := h.healthy(); err != nil {
			return err
		}
		h.mu.Lock()
		h.tips.CopyTo(newer, func(r *format.Recorded) bool {
			return r.Aggregate == aggregate && (account == eventstore.EveryAccount || r.Account == account)
		})
		h.mu.Unlock()
	}
	prefix := tiprow.Prefix(aggregate)
	if account != eventstore.EveryAccount {
		prefix = tiprow.Prefix(aggregate, string(account))
	}
	view := s.tips.Snapshot()
	defer view.Close()
	total := uint64(len(newer))
	err := view.Each(prefix, func(key, _ []byte) error {
		if _, known := newer[tiprow.ParseKey(key)]; !known {
			total++
		}
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	begin(total)
	err = view.Each(prefix, func(row, value []byte) error {
		key := tiprow.ParseKey(row)
		if newer[key] != nil {
			return ctx.Err()
		}
		r, err := tiprow.Parse(s.ShardOf(key), append([]byte(nil), value...))
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		return handle(r)
	})
	for _, r := range newer {
		if err == nil {
			err = handle(r)
		}
	}
	return err
}

// withLeft returns the state after r with the parts moved out of it. If the tip store lacks some of
// them, because an older schema wrote the events, withLeft folds the events again.
func (s *Store) withLeft(ctx context.Context, a *format.Core, r *format.Recorded, state any) (any, error) {
	if newest, ok := s.recentEvents.Get(r.Key); ok && newest.Revision >= r.Revision {
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
	if newest := h.tipInMemory(r.Key); newest != nil && newest.Revision == r.Revision {
		h.s.recentEvents.Put(r.Key, newest.WithState(state))
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
func (s *Store) unreadable(place any, err error) error {
	remedy := s.tips.Remedy(err)
	if errors.Is(err, tipstore.ErrDamaged) { // perhaps a row that cannot be parsed: then no read has marked the store
		s.tips.Condemn()
	}
	if !s.closing.Load() {
		err = fmt.Errorf("%w: the tip store cannot be read at %v: %w; %s", fault.ErrUnhealthy, place, err, remedy)
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
