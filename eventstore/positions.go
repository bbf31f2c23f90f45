package eventstore

import (
	"context"
	"errors"
	"fmt"
	"math/bits"

	"payledger/eventstore/cache"
	"payledger/eventstore/checkpoint"
	"payledger/eventstore/jetapi"
)

// marksKept is how many checkpoints are remembered: some 200 bytes each.
const marksKept = 8192

// newMarks returns a cache of checkpoints, with their counts only. A checkpoint never changes, and a caller that looks for one
// position usually looks for its neighbours, too.
func newMarks() *cache.Cache[uint64, checkpoint.Checkpoint] {
	return cache.New[uint64](marksKept, func(checkpoint.Checkpoint) int { return 1 }, nil)
}

// Order is the order of the log as far as one checkpoint has fixed it.
type Order struct {
	store *Store
	last  checkpoint.Checkpoint // the zero value covers no event
}

// Order returns the order that the newest durable checkpoint has fixed. It does not wait for a checkpoint.
func (s *Store) Order(ctx context.Context) (Order, error) {
	o := Order{store: s}
	var err error
	if number := s.fixed.newest(); s.sole && number > 0 { // the sole writer knows which is the newest
		o.last, err = s.mark(ctx, number)
		return o, err
	}
	newest, err := s.LastCheckpoint(ctx)
	if errors.Is(err, ErrNotFound) {
		return o, nil
	}
	o.last = newest
	return o, err
}

// Position returns the event's place in the log, from 1; false while no checkpoint covers the event.
func (o Order) Position(ctx context.Context, r *Recorded) (uint64, bool, error) {
	if r.Shard < 0 || r.Shard >= o.store.shards || r.Number > o.last.EventsOf(r.Shard) {
		return 0, false, nil
	}
	before, at, err := o.covering(ctx, r)
	if err != nil {
		return 0, false, fmt.Errorf("eventstore: position of %s revision %d: %w", r.Key, r.Revision, err)
	}
	position := before.Size + r.Number - before.EventsOf(r.Shard)
	for shard := range r.Shard {
		position += at.EventsOf(shard) - before.EventsOf(shard)
	}
	return position, true, nil
}

// covering finds the checkpoint that covers the event, and the one before it. The search goes down powers of two from
// the first checkpoint on, so that every search reads the same checkpoints first; those are remembered.
func (o Order) covering(ctx context.Context, r *Recorded) (before, at checkpoint.Checkpoint, err error) {
	for step := uint64(1) << bits.Len64(o.last.Number); step > 0; step >>= 1 {
		if before.Number+step > o.last.Number {
			continue
		}
		c, err := o.store.mark(ctx, before.Number+step)
		if err != nil {
			return before, at, err
		}
		if c.EventsOf(r.Shard) < r.Number {
			before = c
		}
	}
	at, err = o.store.mark(ctx, before.Number+1)
	return before, at, err
}

// mark returns the counts of a durable checkpoint, by its number.
func (s *Store) mark(ctx context.Context, number uint64) (checkpoint.Checkpoint, error) {
	if c, known := s.marks.Get(number); known {
		return c, nil
	}
	c, err := s.readCheckpoint(ctx, jetapi.Get{Seq: number})
	if err != nil {
		return c, err
	}
	c = checkpoint.Checkpoint{Number: c.Number, Size: c.Size, Events: c.Events}
	s.marks.Put(number, c)
	return c, nil
}
