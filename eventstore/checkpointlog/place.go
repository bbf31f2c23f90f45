package checkpointlog

import (
	"context"

	"payledger/eventstore/checkpoint"
	"payledger/eventstore/fault"
	"payledger/eventstore/format"
	"payledger/eventstore/streams"
)

// place is the group of a checkpoint.
type place struct{ number, seq uint64 }

// find returns the record of a checkpoint. ErrNotFound: the log has no such checkpoint.
func (l *Log) find(ctx context.Context, number uint64) (*format.Recorded, error) {
	newest, _, _ := l.Shard.Newest()
	if number > newest.Events { // another node may have written it
		if err := l.Shard.CatchUp(ctx); err != nil {
			return nil, err
		}
		newest, _, _ = l.Shard.Newest()
	}
	if number == 0 || number > newest.Events {
		return nil, fault.ErrNotFound
	}
	before, after := l.around(number, place{newest.Events, format.GroupOf(newest.Last)})
	low, high := before.seq+(number-before.number), after.seq-(after.number-number)
	first := low
	if after.number-number < number-before.number {
		first = high
	}
	return checkpoint.Locate(streams.Shard(streams.CheckpointShard), number, first, low, high, func(seq uint64) (*format.Group, error) {
		return l.Shard.Group(ctx, seq)
	})
}

// around returns the cached checkpoints next to a number, given the newest one. checkpoint.Search
// has just read the two that differ in the lowest bit of the number; a reader of all checkpoints
// has read the one before or after.
func (l *Log) around(number uint64, newest place) (before, after place) {
	after = newest
	bit := number & -number
	for _, near := range []uint64{number - bit, number + bit, number - 1, number + 1} {
		c, known := l.marks.Get(near)
		switch {
		case !known:
		case near < number:
			before = place{near, format.GroupOf(c.Place)}
		default:
			after = place{near, format.GroupOf(c.Place)}
		}
	}
	return before, after
}
