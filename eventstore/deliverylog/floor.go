package deliverylog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"payledger/eventstore/fault"
	"payledger/eventstore/format"
	"payledger/eventstore/streams"
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

var floorKey = streams.KindOf(streams.DeliveryShard).Floor

// Floor returns the end of the dropped segments.
func (d *Stream) Floor() streams.Floor { return d.h.Floor() }

// Drop appends the floor that covers the oldest segment. log has for each shard the address up to
// which events plan nothing. These events must be durable, and include the events of all records of
// the segment. ErrHeld: the segment cannot be dropped.
func (d *Stream) Drop(ctx context.Context, number uint32, newest time.Time, log []uint64) (streams.Floor, error) {
	before, segments := d.h.Floor(), d.h.Segments()
	i := slices.IndexFunc(segments, func(g streams.Segment) bool { return g.Number == number })
	if i < 0 || segments[i].Last == 0 || number != max(before.Segment+1, segments[0].Number) {
		return streams.Floor{}, fmt.Errorf("%w: %s is not the oldest, or not closed", ErrHeld, streams.Name(streams.DeliveryShard, number))
	}
	err := d.Each(ctx, number, func(r Record, open bool) error {
		if open {
			return fmt.Errorf("%w: %s at %d.%d is open", ErrHeld, r.Name, format.GroupOf(r.Seq), format.FrameOf(r.Seq))
		}
		return nil
	})
	if err != nil {
		return streams.Floor{}, err
	}
	closing, err := d.h.Group(ctx, segments[i].Last)
	if err != nil {
		return streams.Floor{}, err
	}
	f := streams.Floor{
		Segment: number, Seq: closing.Seq, Hash: closing.Hash[:], Records: closing.Events, Names: closing.Aggregates,
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
	body, err := f.Body()
	if err != nil {
		return streams.Floor{}, err
	}
	tip, err := d.h.Tip(floorKey)
	if err != nil {
		return streams.Floor{}, err
	}
	expected := uint64(0)
	if tip != nil {
		expected = tip.Seq
	}
	_, err = d.Put(ctx, floorKey.ID, expected, body, false)
	return f, err
}

// Sweep removes dropped segments from the disk. Any process may call it, also repeatedly.
func (d *Stream) Sweep(ctx context.Context) error { return d.h.Sweep(ctx) }
