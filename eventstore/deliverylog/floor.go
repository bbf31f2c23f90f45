package deliverylog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"payledger/eventstore/codec"
	"payledger/eventstore/fault"
	"payledger/eventstore/format"
)

// The oldest segment of the stream is dropped as a whole, in these steps. A crash may come between
// any two of them.
//
//  1. The caller has copied the open records of the segment forward, and its own readers have
//     passed it.
//  2. The floor is appended to the stream. This record names the last group of the dropped segment,
//     and for each shard of the log the address up to which events plan no delivery. After its
//     acknowledgement no reader sees the dropped records, and their names are free.
//  3. The dropped records are removed from the tip store, which is synced.
//  4. The stream of the segment is deleted.
//
// A start finds a segment that a floor covers, and continues (Sweep). A missing segment that no
// floor covers is damage.

// ErrDropped means that the record was in a segment that was dropped.
var ErrDropped = fault.ErrDropped

// ErrHeld means that a segment cannot be dropped: it is not the oldest, is not closed, or holds an
// open record.
var ErrHeld = errors.New("eventstore: the segment of deliveries is still needed")

const (
	// floorName is the name of the record of the dropped segments.
	floorName   = "floor"
	floorSchema = 1
)

// FloorKey is the key of the floor.
var FloorKey = format.Key{Account: format.SystemAccount, Aggregate: format.BesideAggregate, ID: floorName}

// Floor is the end of the dropped segments. The zero value means that none was dropped.
type Floor struct {
	Schema  int       `json:"schema"`
	Segment uint32    `json:"segment"` // number of the newest dropped segment
	Seq     uint64    `json:"seq"`     // of its last group
	Hash    []byte    `json:"hash"`    // of that group
	Records uint64    `json:"records"` // number of records up to it
	Names   uint64    `json:"names"`   // number of names up to it
	Newest  time.Time `json:"newest"`  // time of the newest record up to it
	Log     []uint64  `json:"log"`     // per shard of the log: events up to this address plan nothing
}

// Covers reports whether the record at a place was dropped.
func (f Floor) Covers(place uint64) bool { return format.GroupOf(place) <= f.Seq }

// ParseFloor reads a floor. It returns the zero value for any other record.
func ParseFloor(r *format.Recorded) (Floor, error) {
	var f Floor
	if r.Key != FloorKey {
		return f, nil
	}
	err := codec.Unmarshal(r.Body, &f)
	switch {
	case err != nil:
	case f.Schema > floorSchema:
		err = fmt.Errorf("%w: schema %d, known is %d", format.ErrNewerSchema, f.Schema, floorSchema)
	case len(f.Hash) != len(format.Hash{}) || f.Seq == 0 || f.Segment == 0:
		err = codec.ErrMalformed
	}
	if err != nil {
		return Floor{}, fmt.Errorf("the record of the dropped segments at %d.%d: %w", format.GroupOf(r.Seq), format.FrameOf(r.Seq), err)
	}
	return f, nil
}

// Floor returns the end of the dropped segments.
func (d *Stream) Floor() Floor { return d.h.Floor() }

// Drop appends the floor that covers the oldest segment. log has for each shard the address up to
// which events plan nothing. These events must be durable, and include the events of all records of
// the segment. ErrHeld: the segment cannot be dropped.
func (d *Stream) Drop(ctx context.Context, number uint32, newest time.Time, log []uint64) (Floor, error) {
	before, segments := d.h.Floor(), d.h.Bounds()
	i := slices.IndexFunc(segments, func(g Bounds) bool { return g.Number == number })
	if i < 0 || segments[i].Last == 0 || number != max(before.Segment+1, segments[0].Number) {
		return Floor{}, fmt.Errorf("%w: %s_%d is not the oldest, or not closed", ErrHeld, StreamName, number)
	}
	err := d.Each(ctx, number, func(r Record, open bool) error {
		if open {
			return fmt.Errorf("%w: %s at %d.%d is open", ErrHeld, r.Name, format.GroupOf(r.Seq), format.FrameOf(r.Seq))
		}
		return nil
	})
	if err != nil {
		return Floor{}, err
	}
	closing, err := d.h.Group(ctx, segments[i].Last)
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
	tip, err := d.h.Tip(FloorKey)
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

// Sweep removes dropped segments from the disk. Any process may call it, also repeatedly.
func (d *Stream) Sweep(ctx context.Context) error { return d.h.Sweep(ctx) }
