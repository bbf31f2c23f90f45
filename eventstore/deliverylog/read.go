package deliverylog

import (
	"context"
	"errors"
	"fmt"

	"payledger/eventstore/fault"
	"payledger/eventstore/format"
)

// ErrShort means that the stream ends before a place that was read earlier. The caller must read it
// again from the beginning.
var ErrShort = errors.New("eventstore: the stream of deliveries is shorter than it was")

// FullPage is the batch size at which Follow calls its handler early. A smaller page has the newest
// records.
const FullPage = 512

// End returns the place of the stream's newest record; 0 if there is none.
func (d *Stream) End(ctx context.Context) (uint64, error) {
	if err := d.h.CatchUp(ctx); err != nil {
		return 0, fmt.Errorf("eventstore: deliveries: %w", err)
	}
	return d.h.End().Last, nil
}

// At returns the record at a place. ErrNotFound: there is none. ErrDropped: it was dropped.
func (d *Stream) At(ctx context.Context, place uint64) (Record, error) {
	r, err := d.h.Record(ctx, place)
	if err != nil {
		return Record{}, fmt.Errorf("eventstore: the delivery at %d.%d: %w", format.GroupOf(place), format.FrameOf(place), err)
	}
	return RecordOf(r), nil
}

// AsOf returns the record of a name that was its newest record when the stream ended at a place.
// ErrNotFound: there was none. If that record was dropped, AsOf returns the oldest remaining
// record.
func (d *Stream) AsOf(ctx context.Context, name string, place uint64) (Record, error) {
	key, err := keyOf(name)
	if err != nil {
		return Record{}, fmt.Errorf("%w: %w", fault.ErrNotFound, err)
	}
	r, err := d.h.Tip(key)
	for err == nil && r != nil && r.Seq > place {
		if r.PrevSeq == 0 {
			return Record{}, fault.ErrNotFound
		}
		before, readErr := d.h.Record(ctx, r.PrevSeq)
		if errors.Is(readErr, ErrDropped) {
			break
		}
		r, err = before, readErr
	}
	return found(name, r, err)
}

// Scan returns up to limit records at or after a place, and the rest of the last one's group. end
// reports whether they are the last.
func (d *Stream) Scan(ctx context.Context, from uint64, limit int) (page []Record, end bool, err error) {
	last, err := d.End(ctx)
	if err != nil {
		return nil, false, err
	}
	next := max(format.GroupOf(from), d.h.First())
	for next <= format.GroupOf(last) && len(page) < limit {
		next, err = d.h.Groups(ctx, next, next, func(g *format.Group) error {
			page = appendFrom(page, g, from)
			return nil
		})
		if err != nil {
			return nil, false, fmt.Errorf("eventstore: deliveries: %w", err)
		}
	}
	return page, next > format.GroupOf(last), nil
}

func appendFrom(page []Record, g *format.Group, from uint64) []Record {
	for _, r := range g.Frames {
		if r.Seq >= from {
			page = append(page, RecordOf(r))
		}
	}
	return page
}

// Follow calls batch with all durable records at or after place from, each once and in order: first
// the existing records, then new ones, until ctx ends or batch returns an error. Follow returns
// that error. Dropped records are left out. ErrShort: the stream ends before from−1, so it is not
// the stream that was followed before.
func (d *Stream) Follow(ctx context.Context, from uint64, batch func([]Record) error) error {
	last, err := d.End(ctx)
	if err != nil {
		return err
	}
	if last+1 < from {
		return fmt.Errorf("%w: it ends at %d, and was read up to %d", ErrShort, last, from-1)
	}
	var page []Record
	return d.h.Follow(ctx, max(format.GroupOf(from), d.h.First()), func(g *format.Group) error {
		page = appendFrom(page, g, from)
		if len(page) == 0 || g.Seq < d.h.End().Seq && len(page) < FullPage {
			return nil
		}
		full := page
		page = nil
		if err := batch(full); err != nil {
			return err
		}
		return ctx.Err()
	})
}
