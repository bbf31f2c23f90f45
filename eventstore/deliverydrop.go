package eventstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"payledger/eventstore/blocks"
	"payledger/eventstore/codec"
	"payledger/eventstore/format"
	"payledger/eventstore/tipstore"
)

// Of the stream of deliveries the oldest segment can be dropped, as a whole, in these steps. A crash may come between any
// two of them.
//
//  1. The caller has copied forward what is open in it, and looked that every reader has passed it.
//  2. The floor is appended: a record beside the deliveries that names the last group of the dropped segment, and up to
//     where in the log events plan nothing any more. It is acknowledged: from now on the records up to it are not there
//     for anybody, and their names are free.
//  3. The tip store forgets those records, and is synced.
//  4. The stream is deleted.
//
// A start finds a segment that step 2 named, and goes on (Sweep). A segment that is gone without a floor that says so is
// damage.

// ErrDropped means that a record stood in a segment that was dropped.
var ErrDropped = errors.New("eventstore: the delivery was dropped")

// ErrHeld means that a segment cannot be dropped: it is open, or holds a record that is.
var ErrHeld = errors.New("eventstore: the segment of deliveries is still needed")

const (
	// floorName names the record of the dropped segments.
	floorName   = "floor"
	floorSchema = 1
)

var floorKey = Key{Account: format.SystemAccount, Aggregate: format.BesideAggregate, ID: floorName}

// Floor is the part of the stream of deliveries that was dropped. The zero value: nothing was dropped.
type Floor struct {
	Schema  int       `json:"schema"`
	Segment uint32    `json:"segment"` // the newest segment that was dropped
	Seq     uint64    `json:"seq"`     // of its last group
	Hash    []byte    `json:"hash"`    // of that group
	Records uint64    `json:"records"` // number of records up to it
	Names   uint64    `json:"names"`   // number of names up to it
	Newest  time.Time `json:"newest"`  // when the newest record up to it was made
	Log     []uint64  `json:"log"`     // per shard of the log: events up to this address plan nothing
}

// Covers reports whether the record at a place was dropped.
func (f Floor) Covers(place uint64) bool { return format.GroupOf(place) <= f.Seq }

// floorOf reads a floor; the zero value for any other record.
func floorOf(r *Recorded) (Floor, error) {
	var f Floor
	if r.Key != floorKey {
		return f, nil
	}
	err := codec.Unmarshal(r.Body, &f)
	switch {
	case err != nil:
	case f.Schema > floorSchema:
		err = fmt.Errorf("%w: schema %d, known is %d", format.ErrNewerSchema, f.Schema, floorSchema)
	case len(f.Hash) != len(Hash{}) || f.Seq == 0 || f.Segment == 0:
		err = codec.ErrMalformed
	}
	if err != nil {
		return Floor{}, fmt.Errorf("the record of what was dropped at %d.%d: %w", format.GroupOf(r.Seq), format.FrameOf(r.Seq), err)
	}
	return f, nil
}

// noteFloor takes over a floor that was acknowledged. The caller holds the lock, and has checked the record.
func (h *shard) noteFloor(r *Recorded) {
	if f, err := floorOf(r); err == nil && f.Seq > h.floor.Seq {
		h.floor = f
	}
}

// loadFloor takes the floor from the tip store. The caller holds the lock.
func (h *shard) loadFloor() error {
	r, err := h.s.storedTip(h.n, floorKey, false)
	if err == nil && r != nil {
		h.floor, err = floorOf(r)
	}
	return err
}

// base returns the end of the segment before the first one, as the first group names it.
func (h *shard) base(ctx context.Context) (format.Head, error) {
	first, err := h.readGroup(ctx, h.segments[0].first)
	if err != nil {
		return format.Head{}, err
	}
	return format.Head{Link: format.Link{Seq: first.Seq - 1, Hash: first.Before}, Events: first.Events, Aggregates: first.Aggregates}, nil
}

// checkFloor checks that segments are missing only because they were dropped.
func (h *shard) checkFloor() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	first := h.segments[0].first
	switch {
	case first > 1 && h.floor.Seq < first-1:
		return h.damage(first-1, errors.New("the segments before it are gone"))
	case h.begins.Seq > 0 && h.floor.Seq == h.begins.Seq && (string(h.floor.Hash) != string(h.begins.Hash[:]) ||
		h.floor.Records != h.begins.Events || h.floor.Names != h.begins.Aggregates):
		return h.damage(first, errors.New("it follows another group than the last one that was dropped"))
	}
	return nil
}

// dropped reports whether the group at a sequence was dropped.
func (h *shard) dropped(seq uint64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.n == deliveryShard && seq > 0 && (seq <= h.floor.Seq || seq < h.segments[0].first)
}

// droppedByNow is dropped, after the log was read on: another process may have dropped it a moment ago.
func (h *shard) droppedByNow(ctx context.Context, seq uint64) (bool, error) {
	if h.n != deliveryShard || h.dropped(seq) || h.s.sole || h.s.starting.Load() {
		return h.dropped(seq), nil
	}
	err := h.catchUp(ctx)
	return h.dropped(seq), err
}

// first returns the sequence of the first group that was not dropped.
func (h *shard) first() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return max(h.floor.Seq+1, h.segments[0].first)
}

// Floor returns what was dropped.
func (d *DeliveryStream) Floor() Floor {
	d.h.mu.Lock()
	defer d.h.mu.Unlock()
	return d.h.floor
}

// Drop appends the floor behind the oldest segment, which is dropped with it. log is, for each shard, the address up to
// which events plan nothing any more: it is durable, and every event that a record of the segment is of is covered by it.
// ErrHeld: the segment is open, or holds the newest record of a name that is.
func (d *DeliveryStream) Drop(ctx context.Context, number uint32, newest time.Time, log []uint64) (Floor, error) {
	d.h.mu.Lock()
	i := slices.IndexFunc(d.h.segments, func(g segment) bool { return g.number == number })
	if i < 0 || d.h.segments[i].last == 0 || number != max(d.h.floor.Segment+1, d.h.segments[0].number) {
		d.h.mu.Unlock()
		return Floor{}, fmt.Errorf("%w: %s is not the oldest, or not closed", ErrHeld, segmentName(d.h.n, number))
	}
	g := d.h.segments[i]
	before := d.h.floor
	d.h.mu.Unlock()
	err := d.Each(ctx, number, func(r StoredDelivery, open bool) error {
		if open {
			return fmt.Errorf("%w: %s at %d.%d is open", ErrHeld, r.Name, format.GroupOf(r.Seq), format.FrameOf(r.Seq))
		}
		return nil
	})
	if err != nil {
		return Floor{}, err
	}
	closing, err := d.h.readGroup(ctx, g.last)
	if err != nil {
		return Floor{}, err
	}
	f := Floor{
		Schema: floorSchema, Segment: number, Seq: closing.Seq, Hash: closing.Hash[:], Records: closing.Events, Names: closing.Aggregates,
		Newest: newest, Log: log,
	}
	if before.Newest.After(newest) {
		f.Newest = before.Newest
	}
	if len(before.Log) == len(log) {
		f.Log = slices.Clone(log)
		for n := range f.Log {
			f.Log[n] = max(f.Log[n], before.Log[n])
		}
	}
	body, err := codec.Marshal(f)
	if err != nil {
		return Floor{}, err
	}
	tip, err := d.tip(floorKey)
	if err != nil {
		return Floor{}, err
	}
	expected := uint64(0)
	if tip != nil {
		expected = tip.Seq
	}
	_, err = d.Put(ctx, floorName, expected, body, false)
	return f, err
}

// Sweep removes what was dropped from the disk. It may be repeated, and any process may do it.
func (d *DeliveryStream) Sweep(ctx context.Context) error {
	if d.s.readOnly {
		return nil
	}
	for {
		d.h.mu.Lock()
		oldest := d.h.segments[0]
		floor := d.h.floor
		d.h.mu.Unlock()
		if oldest.number > floor.Segment {
			return d.clean(floor)
		}
		if err := d.forget(ctx, oldest, floor); err != nil {
			return fmt.Errorf("eventstore: %s: %w", oldest.name(d.h.n), err)
		}
		d.h.mu.Lock()
		d.h.segments = slices.Clone(d.h.segments[1:])
		d.h.mu.Unlock()
		err := d.s.js.DeleteStream(ctx, oldest.name(d.h.n))
		if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
			d.h.mu.Lock()
			d.h.segments = append([]segment{oldest}, d.h.segments...)
			d.h.mu.Unlock()
			return fmt.Errorf("eventstore: delete %s: %w", oldest.name(d.h.n), err)
		}
	}
}

// forget takes the records of a dropped segment out of the tip store, which has the floor when forget returns. Records
// that another process has deleted already stay in a tip store that only this process's memory holds.
func (d *DeliveryStream) forget(ctx context.Context, g segment, floor Floor) error {
	if d.s.tipsFixed {
		return nil
	}
	if err := d.s.writeTips(); err != nil {
		return err
	}
	for seq := g.first; seq <= g.last; {
		next, err := d.h.hand(ctx, seq, g.last, func(in *format.Group) error { return d.forgetGroup(in, floor) })
		if err != nil {
			if _, gone := d.s.js.Stream(ctx, g.name(d.h.n)); errors.Is(gone, jetstream.ErrStreamNotFound) || errors.Is(err, ErrDropped) {
				break // another process was faster
			}
			return err
		}
		seq = next
	}
	return d.s.tips.Flush()
}

func (d *DeliveryStream) forgetGroup(g *format.Group, floor Floor) error {
	d.s.writing.Lock() // a newer record of a name must not be written in between
	defer d.s.writing.Unlock()
	batch := d.s.tips.NewBatch()
	for _, r := range g.Frames {
		value, err := d.s.tips.Get(tipKey(r.Key))
		if errors.Is(err, tipstore.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		tip, err := decodeTip(d.h.n, value)
		if err == nil && floor.Covers(tip.Seq) {
			err = batch.Delete(tipKey(r.Key))
		}
		if err != nil {
			return err
		}
	}
	return batch.Commit()
}

// clean removes the folders of dropped segments that a crash left while the server deleted them.
func (d *DeliveryStream) clean(floor Floor) error {
	if d.s.embedded == nil || floor.Segment == 0 {
		return nil
	}
	names, err := blocks.Streams(d.s.embedded.dir, ledgerAccount)
	if err != nil {
		return fmt.Errorf("eventstore: %w", err)
	}
	for _, name := range names {
		if shard, number, ours := parseSegmentName(name); !ours || shard != deliveryShard || number > floor.Segment {
			continue
		}
		if err := os.RemoveAll(blocks.Folder(d.s.embedded.dir, ledgerAccount, name)); err != nil {
			return fmt.Errorf("eventstore: %w", err)
		}
	}
	return nil
}
