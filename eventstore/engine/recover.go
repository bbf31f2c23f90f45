package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"payledger/eventstore/applied"
	"payledger/eventstore/fault"
	"payledger/eventstore/folder"
	"payledger/eventstore/format"
	"payledger/eventstore/tiprow"
	"payledger/eventstore/tipstore"
	"payledger/eventstore/tipstore/tipfiles"
	"payledger/eventstore/workers"
)

const (
	flushEvery    = time.Second            // between two synced writes of applied events to the tip store
	progressEvery = 200 * time.Millisecond // between two progress reports of a recovery
)

// openTips opens the tip store. It replaces a damaged store, and the store of another log, by an
// empty one; restoreTips fills it.
func (s *Store) openTips(c Config, cache int64) error {
	dir := c.Tips
	if dir == "" && s.sole {
		dir = filepath.Join(s.disk.Dir, folder.Tips)
	}
	if s.readOnly && s.leaveTips {
		dir = ""
	}
	if s.readOnly && dir != "" { // nothing in the folder is changed
		var err error
		if s.tips, err = tipfiles.Open(tipstore.Options{Dir: dir, Cache: cache, ReadOnly: true}); err == nil && s.tipsFit() {
			s.tipsFixed = true
			return nil
		}
		if err == nil {
			err = s.tips.Close()
		}
		s.log.Info().AnErr("cause", err).Msg("the tip store in the folder is not used; it is made in memory")
		dir = ""
	}
	var failed atomic.Int64
	options := tipstore.Options{Dir: dir, Cache: cache, Failed: func(err error) {
		if errors.Is(err, tipstore.ErrDamaged) {
			s.markUnhealthy(fmt.Errorf("the tip store is damaged: %w; a restart makes it again from the log", err), false)
			return
		}
		if now := time.Now().Unix(); failed.Swap(now) != now { // Pebble tries again and again
			s.log.Error().Err(err).Msg("the tip store could not be written; trying again")
		}
	}, Fatal: func(err error) { s.markUnhealthy(err, true) }}
	if s.disk.Dir != "" {
		options.Room = s.disk.Writable
	}
	var err error
	s.tips, err = tipfiles.Open(options)
	if err == nil && s.tipsFit() {
		return nil
	}
	if err != nil && !errors.Is(err, tipstore.ErrDamaged) {
		return err
	}
	s.log.Warn().AnErr("cause", err).Msg("the tip store does not fit the log or is damaged; it is made again from the log")
	if s.tips != nil {
		if err := s.tips.Close(); err != nil {
			return err
		}
		s.tips = nil
	}
	if err := tipstore.Discard(dir); err != nil {
		return err
	}
	s.tips, err = tipfiles.Open(options)
	return err
}

// tipsFit reports whether the tip store is empty or belongs to this log.
func (s *Store) tipsFit() bool {
	id, err := s.tips.Get([]byte(tiprow.LogID))
	return errors.Is(err, tipstore.ErrNotFound) || err == nil && string(id) == string(s.id[:])
}

// restoreTips brings the tips of all shards up to the end of the log, and makes what it read
// durable.
func (s *Store) restoreTips(ctx context.Context) error {
	shards := s.all()
	for _, h := range shards { // first: every write to the tip store has the applied places of all shards
		if err := h.restoreEnd(ctx); err != nil {
			return err
		}
	}
	defer s.reportProgress(ctx)()
	failed := workers.Each(len(shards), 2, func(i int) error { return shards[i].replayAll(ctx) })
	if err := errors.Join(append(failed, s.records.checkFloor())...); err != nil {
		return err
	}
	for _, h := range shards {
		h.mu.Lock()
	}
	s.opening = false
	for _, h := range shards {
		h.mu.Unlock()
	}
	return errors.Join(workers.Each(len(shards), len(shards), func(i int) error { return shards[i].makeDurable(ctx) })...)
}

// reportProgress calls Config.Progress at intervals until the caller calls end.
func (s *Store) reportProgress(ctx context.Context) (end func()) {
	var of uint64
	for _, h := range s.shard {
		of += h.eventsInLog(ctx)
	}
	if s.progress == nil || s.Events() >= of {
		return func() {}
	}
	s.progress(s.Events(), of)
	return workers.Repeat(progressEvery, func() { s.progress(s.Events(), of) })
}

// eventsInLog returns the number of events of the shard, or of the applied ones if the last group
// is unreadable: replayAll reports that.
func (h *shard) eventsInLog(ctx context.Context) uint64 {
	h.mu.Lock()
	end, last := h.head, h.segments.atStart
	h.mu.Unlock()
	if last <= end.Seq {
		return end.Events
	}
	g, err := h.Group(ctx, last)
	if err != nil {
		return end.Events
	}
	return g.Events + uint64(len(g.Frames))
}

// restoreEnd sets the shard to the end that the tip store has applied. Rows that cannot be parsed
// damage the store as a table that cannot be read does: its folder is marked.
func (h *shard) restoreEnd(ctx context.Context) error {
	err := h.endOfTips(ctx)
	if errors.Is(err, tipstore.ErrDamaged) {
		h.s.tips.Condemn()
	}
	return err
}

func (h *shard) endOfTips(ctx context.Context) error {
	end, err := h.endInTipStore(ctx)
	if err != nil {
		return err
	}
	if end.Seq == 0 && h.segments.Oldest().First > 1 {
		if end, err = h.base(ctx); err != nil {
			return err
		}
		h.segments.begins = end
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.head, h.beyond.front = end, end
	if err := h.tips.Restore(end, h.s.tips, h.n); err != nil {
		return err
	}
	h.newest.Store(&end.Link)
	if !h.kind.Drops() {
		return nil
	}
	return h.loadFloor()
}

// replayAll applies the groups between the applied place of the tip store and the end of the log.
func (h *shard) replayAll(ctx context.Context) error {
	h.mu.Lock()
	end, last := h.head, h.segments.atStart
	if open := h.segments.Open(); last < open.First {
		last = open.First - 1
	}
	h.mu.Unlock()
	if last < end.Seq {
		return fmt.Errorf("%w: %s ends at %d, but the tip store has applied it up to %d; copy the folder before anything else",
			fault.ErrUnhealthy, h.name(), last, end.Seq)
	}
	return h.readGroups(ctx, end.Seq+1, last, h.replay)
}

// endInTipStore returns the end of the shard that the tip store has applied. It checks that the log
// still holds that last group.
func (h *shard) endInTipStore(ctx context.Context) (format.Head, error) {
	value, err := h.s.tips.Get(tiprow.EndKey(h.n))
	if errors.Is(err, tipstore.ErrNotFound) {
		return format.Head{}, nil
	}
	if err != nil {
		return format.Head{}, err
	}
	end, err := tiprow.ParseEnd(value)
	if err != nil || end.Seq == 0 {
		return end, err
	}
	there, err := h.Group(ctx, end.Seq)
	if err == nil && there.Hash != end.Hash && !h.s.sole { // perhaps in one replica only
		if there, err = h.mustReadAtLeader(ctx, end.Seq); err == nil {
			h.cache(there, there.Hash == end.Hash)
		}
	}
	if errors.Is(err, fault.ErrDropped) { // by another node: the store may hold later records that were dropped, too
		return end, fmt.Errorf("%w: %s was applied up to %d, and dropped since", tipstore.ErrDamaged, h.name(), end.Seq)
	}
	if errors.Is(err, fault.ErrUnhealthy) {
		return end, err
	}
	if err == nil && there.Hash != end.Hash {
		err = errors.New("it differs from the group that was applied")
	}
	if err != nil {
		return end, fault.Damage(h.name(), end.Seq, err)
	}
	h.s.secretWitness.Named(there.Ends.Secrets) // the next group names it again
	return end, nil
}

// replay applies a group that was in the log at the start.
func (h *shard) replay(g *format.Group) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.check(g); err != nil {
		return h.markDamagedLocked(g.Seq, err)
	}
	if g.Kind == format.KindClosing && g.Seq < h.segments.atStart {
		closed, _ := h.segments.Find(g.Seq)
		if next, _ := h.segments.Find(g.Seq + 1); next.Number == closed.Number {
			return h.markDamagedLocked(g.Seq+1, errors.New("it stands behind the closing group of its segment"))
		}
	}
	h.beyond.saw(g)
	h.apply(g)
	for h.tips.Bytes() > h.s.dirtyLimit && !h.s.tipsFixed {
		h.mu.Unlock()
		err := h.s.writeTips()
		h.mu.Lock()
		if err != nil {
			return err
		}
	}
	return nil
}

// makeDurable makes all groups that the server shows durable, before the store answers any caller.
// On an embedded server it appends an empty group and waits for its acknowledgement.
func (h *shard) makeDurable(ctx context.Context) error {
	if h.s.readOnly {
		return nil
	}
	h.mu.Lock()
	end := h.head
	segments := slices.Clone(h.segments.Line[:len(h.segments.Line)-1])
	h.mu.Unlock()
	if end.Seq > 0 {
		last, err := h.Group(ctx, end.Seq)
		if err != nil {
			return err
		}
		h.mu.Lock()
		h.rollAfter(last) // after a crash the next segment may be missing
		h.mu.Unlock()
	}
	for _, g := range segments {
		if !g.Sealed { // a crash prevented it
			if err := h.seal(ctx, g); err != nil {
				return err
			}
		}
	}
	if end.Seq == 0 || !h.s.sole {
		return nil
	}
	h.wantAcknowledged(end.Seq + 1)
	return h.await(ctx, end.Seq+1)
}

// flushTips writes applied events to the tip store, once a second and when flush has a signal.
func (s *Store) flushTips() {
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.gone:
			return
		case <-tick.C:
		case <-s.flush:
		}
		if s.disk.None() {
			continue
		}
		if err := s.writeTips(); err != nil {
			s.log.Error().Err(err).Msg("the tip store could not be written; trying again")
		}
	}
}

// writeTips writes the changes since the last write in one batch, tips and applied places, and
// syncs the batch.
func (s *Store) writeTips() error {
	if s.tipsFixed {
		return nil
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	shards := s.all()
	taken := make([]applied.Batch, len(shards))
	batch := s.tips.NewBatchOf(s.tipsSize)
	var row []byte
	changed := false
	for n, h := range shards {
		h.mu.Lock()
		taken[n] = h.tips.Take(h.head)
		h.mu.Unlock()
		changed = changed || taken[n].New()
		var err error
		if row, err = taken[n].AddTo(batch, h.n, row); err != nil {
			return err
		}
	}
	secrets, err := s.secretWitness.Write(batch)
	if err != nil {
		return err
	}
	if !changed && secrets == 0 {
		return nil
	}
	s.tipsSize = batch.Len() + batch.Len()/4
	err = errors.Join(batch.Set([]byte(tiprow.LogID), s.id[:]), batch.Commit())
	if err == nil {
		err = s.tips.Flush()
	}
	if err != nil {
		return err
	}
	s.secretWitness.Written(secrets)
	for n, h := range shards {
		h.mu.Lock()
		h.tips.Written(taken[n])
		h.sendNext()
		h.mu.Unlock()
	}
	return nil
}
