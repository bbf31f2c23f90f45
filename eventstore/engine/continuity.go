package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"payledger/eventstore"
	"payledger/eventstore/archive"
	"payledger/eventstore/backup"
	"payledger/eventstore/fault"
	"payledger/eventstore/format"
)

// check verifies that a group from the log follows h.beyond.front, and that every event continues
// its aggregate. The caller holds the lock.
func (h *shard) check(g *format.Group) error {
	if g.Shard != h.n || g.Log != h.s.id {
		return fmt.Errorf("group %d belongs to another log or shard", g.Seq)
	}
	if err := g.Follows(h.beyond.front); err != nil {
		return err
	}
	within := map[format.Key]*format.Recorded{}
	for _, r := range g.Frames {
		tip := within[r.Key]
		if tip == nil {
			var err error
			if tip, err = h.frontTip(r.Key, r.Revision == 1); err != nil {
				return err
			}
		}
		// Its predecessor was dropped.
		cut := tip == nil && r.PrevSeq > 0 && (format.GroupOf(r.PrevSeq) < h.segments.Oldest().First || format.GroupOf(r.PrevSeq) <= h.beyond.floor(h.kind, h.segments.floor))
		if err := continues(r, tip); err != nil && !cut {
			return err
		}
		if _, err := h.kind.FloorIn(r); err != nil {
			return err
		}
		within[r.Key] = r
	}
	return nil
}

// frontTip is tip, but it includes the groups that were read and are not known to be durable;
// fresh: there is probably none.
func (h *shard) frontTip(key format.Key, fresh bool) (*format.Recorded, error) {
	if r := h.beyond.tip(key); r != nil {
		return r, nil
	}
	r := h.tipInMemory(key)
	if r == nil {
		var err error
		if r, err = h.s.storedTip(h.n, key, fresh); err != nil {
			return nil, err
		}
	}
	if r != nil && format.GroupOf(r.Seq) <= h.beyond.floor(h.kind, h.segments.floor) {
		return nil, nil
	}
	return r, nil
}

// kept returns a tip, or nil if it was dropped. The caller holds the lock.
func (h *shard) kept(tip *format.Recorded) *format.Recorded {
	if tip != nil && format.GroupOf(tip.Seq) <= h.segments.floor.Seq {
		return nil
	}
	return tip
}

// fits checks that the draft continues the newest acknowledged event of its aggregate.
func (h *shard) fits(d *entry) error {
	tip := h.tipInMemory(d.r.Key)
	if tip == nil {
		var err error
		if tip, err = h.s.storedTip(h.n, d.r.Key, d.r.Revision == 1); err != nil {
			return fmt.Errorf("%w: %w", fault.ErrRefused, err)
		}
	}
	tip = h.kept(tip)
	newest := tip.OrNone()
	if d.r.PrevSeq > 0 && format.GroupOf(d.r.PrevSeq) <= h.segments.floor.Seq {
		return fault.ErrConflict // with a record that was dropped: no node can append it any more
	}
	if d.origin != nil && d.r.Revision > newest.Revision+1 {
		return errElsewhere
	}
	if d.r.Revision != newest.Revision+1 || d.r.PrevSeq != newest.Seq {
		return fault.ErrConflict
	}
	if d.origin == nil {
		return nil
	}
	return continues(d.r, tip)
}

// continues checks that r is the event after tip: its revision, its place and its hash.
func continues(r, tip *format.Recorded) error {
	tip = tip.OrNone()
	switch {
	case r.Revision != tip.Revision+1:
		return fmt.Errorf("%s: revision %d at %d.%d follows revision %d", r.Key, r.Revision, format.GroupOf(r.Seq), format.FrameOf(r.Seq), tip.Revision)
	case r.PrevSeq != tip.Seq:
		return fmt.Errorf("%s: revision %d at %d.%d names another place for the event before", r.Key, r.Revision, format.GroupOf(r.Seq), format.FrameOf(r.Seq))
	case r.Link(tip.Hash) != r.Hash:
		return fmt.Errorf("%s: revision %d at %d.%d has a wrong hash", r.Key, r.Revision, format.GroupOf(r.Seq), format.FrameOf(r.Seq))
	}
	return nil
}

// Archive returns the log up to an acknowledged end: the files of the embedded server, or what the
// servers of a cluster return. It holds everything that its newest checkpoint covers. Close the
// archive before the store.
func (s *Store) Archive(ctx context.Context) (*archive.Archive, error) {
	c, err := s.checkpoints.Last(ctx)
	if err != nil && !errors.Is(err, fault.ErrNotFound) {
		return nil, err
	}
	for n, through := range c.LastSeq { // another node may have appended it
		if _, err := s.shard[n].reach(ctx, through); err != nil && !errors.Is(err, fault.ErrUnhealthy) { // else it is known damage
			return nil, err
		}
	}
	if err := s.writeTips(); err != nil { // the ends of the view are then not before the checkpoint
		return nil, fmt.Errorf("eventstore: the tip store %s cannot be written: %w", s.tips.Dir(), err)
	}
	running := archive.Running{
		Dial: s.dial, Tips: s.tips, Checkpoints: format.GroupOf(c.Place), Known: s.knownDamage,
		Load: func(ctx context.Context, key format.Key) (*format.Recorded, error) {
			return s.Load(ctx, key, eventstore.Latest)
		},
	}
	if s.sole {
		running.Files = s.files()
		running.Files.Found = func(stream string, seq uint64, reason string) {
			_ = s.damagedFile(stream, seq, "verify found: "+reason) // the check reports it
		}
	}
	return archive.Of(ctx, running)
}

// knownDamage reports the damage of the shards.
func (s *Store) knownDamage(damaged archive.Damaged) error {
	for _, h := range s.all() {
		var place *fault.Place
		if !errors.As(h.healthy(), &place) {
			continue
		}
		if err := damaged(place.Stream, place.Seq, place.Cause.Error()); err != nil {
			return err
		}
	}
	return nil
}

// Cut returns the ends of all streams at one moment, for a back-up of the running server's files.
// The newest checkpoint of the cut covers exactly the events up to the ends. The end of SECRETS is
// read after them.
func (s *Store) Cut(ctx context.Context) (cut backup.Cut, err error) {
	if !s.sole {
		return cut, errors.New("eventstore: the log of a cluster has no files in this process")
	}
	newest, err := s.checkpoints.EndAt(ctx, func() []uint64 { return s.ends(&cut) })
	if err != nil {
		return cut, err
	}
	cut.Ends[s.covers.n] = max(cut.Ends[s.covers.n], format.GroupOf(newest.Place)) // groups may name an empty one behind it
	sealed, err := s.OpenSecrets(ctx)
	if err == nil {
		cut.Secrets = sealed.End()
	}
	return cut, err
}

// ends sets the ends of all shards at one moment, and returns the numbers of events.
func (s *Store) ends(cut *backup.Cut) (events []uint64) {
	cut.Ends, cut.Events = map[int]uint64{}, 0
	s.atOnce(func(h *shard) {
		cut.Ends[h.n] = h.head.Seq
		if h.kind.Events {
			cut.Events += h.head.Events
			events = append(events, h.head.Events)
		}
		if h.kind.Drops() {
			cut.Dropped = h.segments.floor.Segment
		}
	})
	return events
}

// atOnce calls do with all shards while none of them changes.
func (s *Store) atOnce(do func(h *shard)) {
	for _, h := range s.all() {
		h.mu.Lock()
		defer h.mu.Unlock()
	}
	for _, h := range s.all() {
		do(h)
	}
}

// History implements eventstore.Events.
func (s *Store) History(ctx context.Context, key format.Key) ([]*format.Recorded, error) {
	tip, err := s.Load(ctx, key, eventstore.Latest)
	if err != nil {
		return nil, err
	}
	return s.Since(ctx, tip, 0)
}

// Since implements eventstore.Events.
func (s *Store) Since(ctx context.Context, tip *format.Recorded, revision uint64) ([]*format.Recorded, error) {
	events := []*format.Recorded{tip}
	for r := tip; r.PrevSeq > 0 && r.Revision > revision; {
		previous, err := s.Previous(ctx, r)
		if err != nil {
			return nil, err
		}
		events = append(events, previous)
		r = previous
	}
	if err := s.checkLast(ctx, tip, events[len(events)-1]); err != nil {
		return nil, err
	}
	slices.Reverse(events)
	return events, nil
}

// Previous implements eventstore.Events.
func (s *Store) Previous(ctx context.Context, r *format.Recorded) (*format.Recorded, error) {
	h := s.shard[r.Shard]
	read := h.groupUnnamed // r confirms the event
	if len(r.Body) == 0 {  // it has not the bytes to do so
		read = h.Group
	}
	previous, err := h.eventAt(ctx, r.PrevSeq, read)
	switch {
	case errors.Is(err, fault.ErrNotFound):
		return nil, fmt.Errorf("%w: %s revision %d is missing at sequence %d", fault.ErrUnhealthy, r.Key, r.Revision-1, format.GroupOf(r.PrevSeq))
	case err != nil:
		return nil, fmt.Errorf("eventstore: %s before revision %d: %w", r.Key, r.Revision, err)
	case previous.Key != r.Key || previous.Revision != r.Revision-1:
		return nil, fmt.Errorf("%w: %s revision %d points at %s revision %d", fault.ErrUnhealthy, r.Key, r.Revision, previous.Key, previous.Revision)
	case len(r.Body) > 0 && r.Link(previous.Hash) != r.Hash:
		return nil, notItsHash(r)
	case previous.PrevSeq == 0 && len(previous.Body) > 0 && previous.Link(format.Hash{}) != previous.Hash:
		return nil, notItsHash(previous)
	}
	return previous, nil
}

// checkLast checks the last event of a walk from a tip. It is in a group that the group after it
// names, if nothing else confirms it.
func (s *Store) checkLast(ctx context.Context, tip, last *format.Recorded) error {
	if last == tip || last.PrevSeq == 0 {
		return nil
	}
	there, err := s.Read(ctx, last.Shard, last.Seq)
	if err == nil && there.Hash != last.Hash {
		err = notItsHash(last)
	}
	return err
}

// ReadAs implements eventstore.Events.
func (s *Store) ReadAs(ctx context.Context, shard int, address uint64, hash, before format.Hash) (*format.Recorded, error) {
	r, err := s.shard[shard].eventAt(ctx, address, s.shard[shard].groupUnnamed)
	if err == nil && (r.Hash != hash || r.Link(before) != hash) {
		err = notItsHash(r)
	}
	return r, err
}

func notItsHash(r *format.Recorded) error {
	return fmt.Errorf("%w: %s revision %d does not have the hash of its bytes", fault.ErrUnhealthy, r.Key, r.Revision)
}

// LastAt implements eventstore.Events.
func (s *Store) LastAt(ctx context.Context, tip *format.Recorded, at time.Time) (*format.Recorded, error) {
	for r := tip; r != nil; {
		if !r.Time.After(at) {
			return r, s.checkLast(ctx, tip, r)
		}
		if r.PrevSeq == 0 {
			return nil, nil
		}
		previous, err := s.Previous(ctx, r)
		if err != nil {
			return nil, err
		}
		r = previous
	}
	return nil, nil
}

// acceptable checks a draft of another node before it waits here: this node writes nothing that a
// reader of the log refuses.
func (h *shard) acceptable(d *format.Recorded) error {
	home := h.kind.Has(d.Key) && (!h.kind.Events || h.s.ShardOf(d.Key) == h.n)
	_, err := h.kind.FloorIn(d)
	switch text := len(d.AppendFrame(nil)) - len(d.Body); {
	case d.Key.Valid() != nil, err != nil, !home:
		return fmt.Errorf("%w: %s does not belong into shard %d", fault.ErrRefused, d.Key, h.n)
	case len(d.Body) > maxBody, text > maxFrameText, len(h.exchange.held) > maxHeld:
		return fmt.Errorf("%w: no room for %d bytes", fault.ErrRefused, len(d.Body)+text)
	}
	return nil
}
