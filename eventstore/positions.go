package eventstore

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"sync"

	"payledger/eventstore/checkpoint"
	"payledger/eventstore/jetapi"
)

// Checkpoints caches checkpoints. A checkpoint never changes, and a caller that looks for one position usually looks for
// its neighbours too. The zero value is ready; all methods may be called from many goroutines.
type Checkpoints struct {
	mu           sync.Mutex
	newer, older map[uint64]mark
}

// checkpointsKept is how many checkpoints are remembered, once or twice over: some 200 bytes each.
const checkpointsKept = 4096

// mark is the part of a checkpoint that positions need. The checkpoint number 0 covers no event.
type mark struct {
	number uint64
	size   uint64
	counts []uint64 // events per shard
}

// covers returns how many events of a shard are covered.
func (m mark) covers(shard int) uint64 {
	if m.counts == nil {
		return 0
	}
	return m.counts[shard]
}

// Order is the order of the log as far as one checkpoint has fixed it.
type Order struct {
	store *Store
	known *Checkpoints
	last  mark
}

// Order returns the order that the newest durable checkpoint of the store has fixed. It does not wait for a checkpoint.
func (c *Checkpoints) Order(ctx context.Context, s *Store) (Order, error) {
	o := Order{store: s, known: c}
	var err error
	if number := s.fixed.newest(); s.sole && number > 0 { // the sole writer knows which is the newest
		o.last, err = c.at(ctx, s, number)
		return o, err
	}
	newest, err := s.LastCheckpoint(ctx)
	if errors.Is(err, ErrNotFound) {
		return o, nil
	}
	o.last = markOf(newest)
	return o, err
}

// Position returns the event's place in the log, from 1; false while no checkpoint covers the event.
func (o Order) Position(ctx context.Context, r *Recorded) (uint64, bool, error) {
	if r.Shard < 0 || r.Shard >= o.store.shards || r.Number > o.last.covers(r.Shard) {
		return 0, false, nil
	}
	before, at, err := o.covering(ctx, r)
	if err != nil {
		return 0, false, fmt.Errorf("eventstore: position of %s revision %d: %w", r.Key, r.Revision, err)
	}
	position := before.size + r.Number - before.covers(r.Shard)
	for shard := range r.Shard {
		position += at.covers(shard) - before.covers(shard)
	}
	return position, true, nil
}

// covering finds the checkpoint that covers the event, and the one before it. The search goes down powers of two from
// the first checkpoint on, so that every search reads the same checkpoints first; those are remembered.
func (o Order) covering(ctx context.Context, r *Recorded) (before, at mark, err error) {
	for step := uint64(1) << bits.Len64(o.last.number); step > 0; step >>= 1 {
		if before.number+step > o.last.number {
			continue
		}
		m, err := o.known.at(ctx, o.store, before.number+step)
		if err != nil {
			return before, at, err
		}
		if m.covers(r.Shard) < r.Number {
			before = m
		}
	}
	at, err = o.known.at(ctx, o.store, before.number+1)
	return before, at, err
}

// at gives a checkpoint that is durable, by its number.
func (c *Checkpoints) at(ctx context.Context, s *Store, number uint64) (mark, error) {
	if m, known := c.get(number); known {
		return m, nil
	}
	found, err := s.readCheckpoint(ctx, jetapi.Get{Seq: number})
	if err != nil {
		return mark{}, err
	}
	m := markOf(found)
	c.put(m)
	return m, nil
}

func markOf(c checkpoint.Checkpoint) mark {
	return mark{number: c.Number, size: c.Size, counts: c.Events}
}

func (c *Checkpoints) get(number uint64) (mark, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m, known := c.newer[number]; known {
		return m, true
	}
	m, known := c.older[number]
	if known {
		c.keep(m)
	}
	return m, known
}

func (c *Checkpoints) put(m mark) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keep(m)
}

// keep caches a checkpoint. When the newer half is full it becomes the older half, and the previous older half is dropped.
func (c *Checkpoints) keep(m mark) {
	if c.newer == nil || len(c.newer) >= checkpointsKept {
		c.newer, c.older = make(map[uint64]mark), c.newer
	}
	c.newer[m.number] = m
}
