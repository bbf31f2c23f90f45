package eventstore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"payledger/eventstore/format"
)

// RecordSegment is one segment of the stream of deliveries.
type RecordSegment struct {
	Number         uint32
	First, Last    uint64 // places of its first and last record, floors left out; 0 when it has none
	Oldest, Newest time.Time
	Closed         bool // nothing comes to it any more
}

// Segments returns the oldest segment that was not dropped, and the one that takes records; they may be the same.
func (d *DeliveryStream) Segments(ctx context.Context) (oldest, open RecordSegment, err error) {
	if err := d.h.catchUp(ctx); err != nil {
		return oldest, open, err
	}
	d.h.mu.Lock()
	segments, floor, end := slices.Clone(d.h.segments), d.h.floor, d.h.head.Seq
	d.h.mu.Unlock()
	for _, g := range segments {
		if oldest.Number > 0 && g.last > 0 || g.number <= floor.Segment {
			continue
		}
		r, err := d.describe(ctx, g, end)
		if err != nil {
			return oldest, open, fmt.Errorf("eventstore: %s: %w", g.name(d.h.n), err)
		}
		if oldest.Number == 0 {
			oldest = r
		}
		if !r.Closed {
			open = r
		}
	}
	return oldest, open, nil
}

// isKept reports whether a record counts for its segment: a floor does not, or there would always be one to drop.
func isKept(r *Recorded) bool { return r.Key != floorKey }

// describe reads the first and the last record of a segment; end is the last group of the stream.
func (d *DeliveryStream) describe(ctx context.Context, g segment, end uint64) (RecordSegment, error) {
	r := RecordSegment{Number: g.number, Closed: g.last > 0}
	through := g.last
	if !r.Closed {
		through = end
	}
	for seq := g.first; seq <= through && r.First == 0; seq++ {
		in, err := d.h.readGroup(ctx, seq)
		if err != nil {
			return r, err
		}
		if i := slices.IndexFunc(in.Frames, isKept); i >= 0 {
			r.First, r.Oldest = in.Frames[i].Seq, in.Frames[i].Time
		}
	}
	for seq := through; seq >= g.first && r.First > 0 && r.Last == 0; seq-- {
		in, err := d.h.readGroup(ctx, seq)
		if err != nil {
			return r, err
		}
		for _, f := range in.Frames {
			if isKept(f) {
				r.Last, r.Newest = f.Seq, f.Time
			}
		}
	}
	return r, nil
}

// Each hands the records of a closed segment on to handle, in their order. open says that the record is the newest of its
// name, and open.
func (d *DeliveryStream) Each(ctx context.Context, number uint32, handle func(record StoredDelivery, open bool) error) error {
	d.h.mu.Lock()
	i := slices.IndexFunc(d.h.segments, func(g segment) bool { return g.number == number && g.last > 0 })
	if i < 0 {
		d.h.mu.Unlock()
		return fmt.Errorf("%w: %s is not closed", ErrHeld, segmentName(d.h.n, number))
	}
	g := d.h.segments[i]
	d.h.mu.Unlock()
	for seq := g.first; seq <= g.last; {
		next, err := d.h.hand(ctx, seq, g.last, func(in *format.Group) error {
			if in.Seq > g.last {
				return nil // groups in memory go on behind the segment
			}
			for _, r := range in.Frames {
				open := false
				if r.Type == typeOpen {
					tip, err := d.tip(r.Key)
					if err != nil {
						return err
					}
					open = tip != nil && tip.Seq == r.Seq
				}
				if err := handle(storedDelivery(r), open); err != nil {
					return err
				}
			}
			return ctx.Err()
		})
		if err != nil {
			return err
		}
		seq = next
	}
	return nil
}

// CloseSegment closes a segment as soon as it is the open one, however small it is.
func (d *DeliveryStream) CloseSegment(number uint32) {
	d.h.mu.Lock()
	defer d.h.mu.Unlock()
	d.h.rollFrom = number
	d.h.leave()
}
