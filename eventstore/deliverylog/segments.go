package deliverylog

import (
	"context"
	"fmt"
	"slices"
	"time"

	"payledger/eventstore/format"
	"payledger/eventstore/streams"
)

// Segment is one segment of the stream.
type Segment struct {
	Number         uint32
	First, Last    uint64 // places of its first and last record that counts (Stream.content); 0 if it has none
	Oldest, Newest time.Time
	Closed         bool // no more records are appended
}

// Segments returns the oldest segment that was not dropped, and the segment that takes records;
// they may be the same.
func (d *Stream) Segments(ctx context.Context) (oldest, open Segment, err error) {
	if err := d.h.CatchUp(ctx); err != nil {
		return oldest, open, err
	}
	segments, floor, end := d.h.Segments(), d.h.Floor(), d.h.End().Seq
	for _, g := range segments {
		if oldest.Number > 0 && g.Last > 0 || g.Number <= floor.Segment {
			continue
		}
		r, err := d.describe(ctx, g, end)
		if err != nil {
			return oldest, open, fmt.Errorf("eventstore: %s: %w", g.Name(), err)
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

// content returns the records of a group that count as content of its segment. If a floor or the
// newest position of a reader did, there would always be a segment to drop.
func (d *Stream) content(ctx context.Context, seq uint64) (content []*format.Recorded, err error) {
	in, err := d.h.Group(ctx, seq)
	if err != nil {
		return nil, err
	}
	for _, r := range in.Frames {
		var tip *format.Recorded
		if isPosition(r.Key) {
			if tip, err = d.h.Tip(r.Key); err != nil {
				return nil, err
			}
		}
		if r.Key != floorKey && (tip == nil || tip.Seq != r.Seq) {
			content = append(content, r)
		}
	}
	return content, nil
}

// describe reads the first and the last record of a segment; end is the last group of the stream.
func (d *Stream) describe(ctx context.Context, g streams.Segment, end uint64) (Segment, error) {
	r := Segment{Number: g.Number, Closed: g.Last > 0}
	through := g.Last
	if !r.Closed {
		through = end
	}
	for seq := g.First; seq <= through && r.First == 0; seq++ {
		content, err := d.content(ctx, seq)
		if err != nil {
			return r, err
		}
		if len(content) > 0 {
			r.First, r.Oldest = content[0].Seq, content[0].Time
		}
	}
	for seq := through; seq >= g.First && r.First > 0 && r.Last == 0; seq-- {
		content, err := d.content(ctx, seq)
		if err != nil {
			return r, err
		}
		if last := len(content) - 1; last >= 0 {
			r.Last, r.Newest = content[last].Seq, content[last].Time
		}
	}
	return r, nil
}

// Each calls handle with the records of a closed segment in their order. open reports whether a
// record is open, and its name's newest.
func (d *Stream) Each(ctx context.Context, number uint32, handle func(record Record, open bool) error) error {
	segments := d.h.Segments()
	i := slices.IndexFunc(segments, func(g streams.Segment) bool { return g.Number == number && g.Last > 0 })
	if i < 0 {
		return fmt.Errorf("%w: %s is not closed", ErrHeld, streams.Name(streams.DeliveryShard, number))
	}
	g := segments[i]
	for seq := g.First; seq <= g.Last; {
		next, err := d.h.Groups(ctx, seq, g.Last, func(in *format.Group) error {
			if in.Seq > g.Last {
				return nil // Groups may continue with later groups in memory
			}
			for _, r := range in.Frames {
				open := false
				if r.Type == typeOpen {
					tip, err := d.h.Tip(r.Key)
					if err != nil {
						return err
					}
					open = tip != nil && tip.Seq == r.Seq
				}
				if err := handle(RecordOf(r), open); err != nil {
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

// CloseSegment closes a segment as soon as it is the open segment, however small it is.
func (d *Stream) CloseSegment(number uint32) { d.h.CloseSegment(number) }
