package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"payledger/eventstore/applied"
	"payledger/eventstore/deliverylog"
	"payledger/eventstore/due"
	"payledger/eventstore/fault"
	"payledger/eventstore/folder"
	"payledger/eventstore/format"
	"payledger/eventstore/jetapi"
	"payledger/eventstore/streams"
	"payledger/eventstore/tiprow"
	"payledger/eventstore/tipstore"
)

// records implements deliverylog.Shard and checkpointlog.Shard, with the exported methods of shard.
type records struct{ *shard }

// Deliveries returns the stream of the records of deliveries.
func (s *Store) Deliveries() *deliverylog.Stream {
	return deliverylog.New(records{s.records}, s.Now)
}

// indexOf returns the index that the tip store has of the frames of a shard; nil without one.
func indexOf(shard int) applied.Index {
	if shard == streams.DeliveryShard {
		return deliverylog.Index{}
	}
	return nil
}

func (h records) End() format.Head {
	end, _ := h.end()
	return end
}

func (h records) Newest() (format.Head, <-chan struct{}, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.head, h.grown, h.stopped
}

func (h records) Floor() streams.Floor {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.segments.floor
}

func (h records) Segments() streams.Line {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.segments.Line)
}

func (h records) Tip(key format.Key) (*format.Recorded, error) {
	tip, err := h.tip(key)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if tip = h.kept(tip); tip == nil && h.stopped != nil { // the damaged part of the stream may hold a record
		return nil, h.stopped
	}
	return tip, nil
}

func (h records) Snapshot(want func(*format.Recorded) bool) (deliverylog.Snapshot, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	newer := map[format.Key]*format.Recorded{}
	h.tips.CopyTo(newer, want)
	view := h.s.tips.Snapshot()
	return deliverylog.Snapshot{Newer: newer, View: view, Stored: func(key format.Key) (*format.Recorded, error) { return tiprow.Get(view.Get, h.n, key) }}, nil
}

// Append pauses and returns ErrConflict if the server could not be reached: Put repeats it.
func (h records) Append(ctx context.Context, r *format.Recorded) error {
	err := h.s.append(ctx, r)
	if errors.Is(err, errAway) && !h.s.closing.Load() && due.Rest(ctx, resolvePause, nil) == nil {
		return fault.ErrConflict
	}
	return err
}

func (h records) CloseSegment(number uint32) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.segments.closeAt = number
	h.sendNext()
}

// noteFloor notes an acknowledged floor. The caller holds the lock, and has checked the record.
func (h *shard) noteFloor(r *format.Recorded) {
	if f, err := h.kind.FloorIn(r); err == nil && f.Seq > h.segments.floor.Seq {
		h.segments.floor = f
	}
}

// loadFloor takes the floor from the tip store. The caller holds the lock.
func (h *shard) loadFloor() error {
	r, err := h.s.storedTip(h.n, h.kind.Floor, false)
	if err == nil && r != nil {
		h.segments.floor, err = h.kind.FloorIn(r)
	}
	return err
}

// base returns the end of the segment before the first one, as the first group names it.
func (h *shard) base(ctx context.Context) (format.Head, error) {
	read := h.Group
	if !h.s.sole { // no group before it shows that a replica has the right one
		read = h.mustReadAtLeader
	}
	first, err := read(ctx, h.segments.Oldest().First)
	if err != nil {
		return format.Head{}, err
	}
	return format.Head{Link: format.Link{Seq: first.Seq - 1, Hash: first.Before}, Events: first.Events, Aggregates: first.Aggregates}, nil
}

// checkFloor checks that segments are missing only because they were dropped.
func (h *shard) checkFloor() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	first := h.segments.Oldest().First
	switch {
	case first > 1 && h.segments.floor.Seq < first-1:
		return h.markDamagedLocked(first-1, errors.New("the segments before it are gone"))
	case h.segments.begins.Seq > 0 && h.segments.floor.Seq == h.segments.begins.Seq && (string(h.segments.floor.Hash) != string(h.segments.begins.Hash[:]) ||
		h.segments.floor.Records != h.segments.begins.Events || h.segments.floor.Names != h.segments.begins.Aggregates):
		return h.markDamagedLocked(first, errors.New("it does not follow the last group that was dropped"))
	}
	return nil
}

// First returns the sequence of the first group that was not dropped.
func (h *shard) First() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.segments.first()
}

func (h *shard) dropped(seq uint64) bool { return seq > 0 && seq < h.First() }

// droppedByNow is dropped after a look at the log: another process may have dropped the group a
// moment ago.
func (h *shard) droppedByNow(ctx context.Context, seq uint64) (bool, error) {
	if !h.kind.Drops() || h.dropped(seq) || h.s.sole || h.s.starting.Load() {
		return h.dropped(seq), nil
	}
	err := h.CatchUp(ctx)
	return h.dropped(seq), err
}

func (h records) Sweep(ctx context.Context) error {
	if h.s.readOnly {
		return nil
	}
	for {
		h.mu.Lock()
		oldest, floor := h.segments.Oldest(), h.segments.floor
		h.mu.Unlock()
		name := oldest.Name()
		if oldest.Number > floor.Segment {
			if !h.s.sole {
				return nil
			}
			return folder.Clean(h.s.disk.Dir, h.n, floor.Segment) // a crash left them while the server deleted them
		}
		if err := h.forgetSegment(ctx, oldest, floor); err != nil {
			return fmt.Errorf("eventstore: %s: %w", name, err)
		}
		h.mu.Lock()
		h.segments.Forget(oldest.Number)
		h.mu.Unlock()
		if err := jetapi.DeleteStream(ctx, h.s.api.JS, name); err != nil {
			h.mu.Lock()
			h.segments.Line = append(streams.Line{oldest}, h.segments.Line...)
			h.mu.Unlock()
			return err
		}
	}
}

// forgetSegment removes the records of a dropped segment from the tip store. The tip store has the
// floor when forgetSegment returns. Records of a segment that another process has deleted already
// stay in a tip store in memory.
func (h records) forgetSegment(ctx context.Context, g segment, floor streams.Floor) error {
	if h.s.tipsFixed {
		return nil
	}
	if err := h.s.writeTips(); err != nil {
		return err
	}
	for seq := g.First; seq <= g.Last; {
		next, err := h.Groups(ctx, seq, g.Last, func(in *format.Group) error { return h.forgetGroup(in, floor) })
		if err != nil {
			if _, gone := h.s.api.JS.Stream(ctx, g.Name()); errors.Is(gone, jetstream.ErrStreamNotFound) || errors.Is(err, fault.ErrDropped) {
				break // another process was faster
			}
			return err
		}
		seq = next
	}
	return h.s.tips.Flush()
}

func (h records) forgetGroup(g *format.Group, floor streams.Floor) error {
	h.s.writing.Lock() // a newer record of a name must not be written in between
	defer h.s.writing.Unlock()
	batch := h.s.tips.NewBatch()
	for _, r := range g.Frames {
		tip, err := tiprow.Get(h.s.tips.Get, h.n, r.Key)
		if errors.Is(err, tipstore.ErrNotFound) {
			continue
		}
		if err == nil && floor.Covers(tip.Seq) {
			err = batch.Delete(tiprow.Key(r.Key))
		}
		if err != nil {
			return err
		}
	}
	return batch.Commit()
}
