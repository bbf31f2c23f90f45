package eventstore

import (
	"context"
	"errors"
	"fmt"

	"payledger/eventstore/backup"
	"payledger/eventstore/deliverylog"
	"payledger/eventstore/format"
	"payledger/eventstore/sidelog"
)

// check verifies that a group from the log follows h.front, and that every event continues its aggregate. The caller holds the lock.
func (h *shard) check(g *format.Group) error {
	if g.Shard != h.n || g.Log != h.s.id {
		return fmt.Errorf("group %d belongs to another log or shard", g.Seq)
	}
	if err := g.Follows(h.front); err != nil {
		return err
	}
	within := map[Key]*Recorded{}
	for _, r := range g.Frames {
		tip := within[r.Key]
		if tip == nil {
			var err error
			if tip, err = h.frontTip(r.Key); err != nil {
				return err
			}
		}
		cut := tip == nil && r.PrevSeq > 0 && (format.GroupOf(r.PrevSeq) < h.segments[0].first || format.GroupOf(r.PrevSeq) <= h.frontFloor()) // its predecessor was dropped
		if err := continues(r, tip); err != nil && !cut {
			return err
		}
		if _, err := deliverylog.ParseFloor(r); err != nil {
			return err
		}
		within[r.Key] = r
	}
	return nil
}

// frontTip is tip, but it includes the groups in seen, which are not known to be durable.
func (h *shard) frontTip(key Key) (*Recorded, error) {
	for i := len(h.seen) - 1; i >= 0 && h.pending[key] > 0; i-- {
		for j := len(h.seen[i].Frames) - 1; j >= 0; j-- {
			if r := h.seen[i].Frames[j]; r.Key == key {
				return r, nil
			}
		}
	}
	r := h.known(key)
	if r == nil {
		var err error
		if r, err = h.s.storedTip(h.n, key, false); err != nil {
			return nil, err
		}
	}
	if r != nil && format.GroupOf(r.Seq) <= h.frontFloor() {
		return nil, nil
	}
	return r, nil
}

// frontFloor returns the last dropped group, by the floors in all groups that were read.
func (h *shard) frontFloor() uint64 {
	through := h.floor.Seq
	if h.pending[deliverylog.FloorKey] == 0 {
		return through
	}
	for _, g := range h.seen {
		for _, r := range g.Frames {
			if f, err := deliverylog.ParseFloor(r); err == nil {
				through = max(through, f.Seq)
			}
		}
	}
	return through
}

// kept returns a tip, or nil if it was dropped. The caller holds the lock.
func (h *shard) kept(tip *Recorded) *Recorded {
	if tip != nil && format.GroupOf(tip.Seq) <= h.floor.Seq {
		return nil
	}
	return tip
}

// fits checks that the draft continues the newest acknowledged event of its aggregate.
func (h *shard) fits(d *entry) error {
	tip := h.known(d.r.Key)
	if tip == nil {
		var err error
		if tip, err = h.s.storedTip(h.n, d.r.Key, d.r.Revision == 1); err != nil {
			return fmt.Errorf("%w: %w", ErrRefused, err)
		}
	}
	revision, address := uint64(0), uint64(0)
	if tip = h.kept(tip); tip != nil {
		revision, address = tip.Revision, tip.Seq
	}
	if d.origin != nil && d.r.Revision > revision+1 {
		return errElsewhere
	}
	if d.r.Revision != revision+1 || d.r.PrevSeq != address {
		return ErrConflict
	}
	if d.origin == nil {
		return nil
	}
	return continues(d.r, tip)
}

// continues checks that r is the event after tip: its revision, its place and its hash.
func continues(r, tip *Recorded) error {
	revision, address, previous := uint64(0), uint64(0), Hash{}
	if tip != nil {
		revision, address, previous = tip.Revision, tip.Seq, tip.Hash
	}
	switch {
	case r.Revision != revision+1:
		return fmt.Errorf("%s: revision %d at %d.%d follows revision %d", r.Key, r.Revision, format.GroupOf(r.Seq), format.FrameOf(r.Seq), revision)
	case r.PrevSeq != address:
		return fmt.Errorf("%s: revision %d at %d.%d names another place for the event before", r.Key, r.Revision, format.GroupOf(r.Seq), format.FrameOf(r.Seq))
	case r.Link(previous) != r.Hash:
		return fmt.Errorf("%s: revision %d at %d.%d has a wrong hash", r.Key, r.Revision, format.GroupOf(r.Seq), format.FrameOf(r.Seq))
	}
	return nil
}

// Cut returns the ends of all streams at one moment, for a back-up of the running server's files. Positions are read before that moment, so
// they refer to nothing behind it. The newest checkpoint of the cut covers exactly the events up to the ends. The end of SECRETS is read
// after them.
func (s *Store) Cut(ctx context.Context) (cut backup.Cut, err error) {
	if s.embedded == nil || s.replicas > 1 {
		return cut, errors.New("eventstore: the log of a cluster has no files in this process")
	}
	if cut.Positions, err = sidelog.NewestPositions(ctx, s.beside); err != nil {
		return cut, err
	}
	newest, err := s.checkpoints.EndAt(ctx, func() []uint64 { return s.ends(&cut) })
	if err != nil {
		return cut, err
	}
	cut.Checkpoints = newest.Number
	sealed, err := s.OpenSecrets(ctx)
	if err == nil {
		cut.Secrets = sealed.End()
	}
	return cut, err
}

// ends sets the ends of all shards at one moment, and returns their numbers of events.
func (s *Store) ends(cut *backup.Cut) (events []uint64) {
	all := s.all()
	for _, h := range all {
		h.mu.Lock()
	}
	cut.Ends, cut.Events = map[int]uint64{}, 0
	for _, h := range all {
		cut.Ends[h.n] = h.head.Seq
		if h.n != deliverylog.ShardNumber {
			cut.Events += h.head.Events
			events = append(events, h.head.Events)
		}
	}
	cut.Dropped = s.records.floor.Segment
	for _, h := range all {
		h.mu.Unlock()
	}
	return events
}
