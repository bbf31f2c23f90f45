package ordered

import (
	"context"
	"fmt"

	"payledger/eventstore"
	"payledger/eventstore/checkpoint"
	"payledger/eventstore/format"
)

// reading reads the events of one checkpoint.
type reading struct {
	*Log
	before, covers checkpoint.Checkpoint // covers has the events after before
	position       uint64                // of the last event that was read or passed
	after          uint64                // position of the last event that the caller has
	handle         func(Event) error
}

func (r *reading) run(ctx context.Context) error {
	for shard := range r.covers.Events {
		first, from := r.before.EventsOf(shard), r.before.LastGroup(shard)
		last, through := r.covers.EventsOf(shard), r.covers.LastGroup(shard)
		if last < first {
			return r.damaged("it counts %d events in shard %d, and the checkpoint before it %d", last, shard, first)
		}
		if last == first || r.position+last-first <= r.after {
			r.position += last - first
			continue
		}
		if err := r.shard(ctx, shard, first, last, from+1, through); err != nil {
			return err
		}
	}
	if r.position != r.covers.Size {
		return r.damaged("it covers %d events, and its shards count %d", r.covers.Size, r.position)
	}
	return nil
}

// shard reads the events of one shard: the numbers after first up to last, in the groups
// from..through.
func (r *reading) shard(ctx context.Context, shard int, first, last, from, through uint64) error {
	start := r.position - first // position of an event minus its number
	next := first + 1
	if r.after > r.position {
		next = r.after - start + 1
	}
	begin, err := r.seek(ctx, shard, next, from, through)
	if err != nil {
		return err
	}
	number, begun := first, false
	err = r.store.Groups(ctx, shard, begin, through, func(g *format.Group) error {
		if !begun && begin > from {
			number = g.Events
		}
		begun = true
		for _, e := range g.Frames {
			number++
			if e.Number != number || number > last {
				return r.damaged("event %d of shard %d stands where event %d should be", e.Number, shard, number)
			}
			if r.position = start + number; r.position <= r.after {
				continue
			}
			if err := r.handle(Event{e, r.position}); err != nil {
				return err
			}
			r.after = r.position
		}
		return ctx.Err()
	})
	if err == nil && number != last {
		err = r.damaged("shard %d has %d events up to group %d, not %d", shard, number, through, last)
	}
	return err
}

// seekFrom is the number of groups from which seek searches: one request reads as many.
const seekFrom = 64

// seek returns a group that is not past the event of a number, and close to it: from or a later
// one.
func (r *reading) seek(ctx context.Context, shard int, number, from, through uint64) (uint64, error) {
	for high := through; high-from >= seekFrom; {
		middle := from + (high-from)/2
		err := r.store.Groups(ctx, shard, middle, middle, func(g *format.Group) error {
			if g.Events < number { // the events before the group: the event stands in the group or after it
				from = middle
			} else {
				high = middle
			}
			return nil
		})
		if err != nil {
			return from, err
		}
	}
	return from, nil
}

func (r *reading) damaged(problem string, args ...any) error {
	return fmt.Errorf("%w: checkpoint %d: %s", eventstore.ErrUnhealthy, r.covers.Number, fmt.Sprintf(problem, args...))
}
