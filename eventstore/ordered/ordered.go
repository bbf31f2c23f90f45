package ordered

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"sync"

	"payledger/eventstore"
	"payledger/eventstore/checkpoint"
)

// Event is an event with its position in the log, from 1.
type Event struct {
	*eventstore.Recorded
	Position uint64
}

// Log reads the events of a store in order. All methods may be called from many goroutines.
type Log struct {
	store *eventstore.Store

	mu    sync.Mutex
	known map[uint64]checkpoint.Checkpoint
}

// cached is the number of checkpoints that a Log keeps in memory: some 400 bytes each.
const cached = 1024

// New returns the log of a store.
func New(store *eventstore.Store) *Log {
	return &Log{store: store, known: map[uint64]checkpoint.Checkpoint{}}
}

// ErrBeyond means that no event has the position yet.
var ErrBeyond = errors.New("ordered: no event has this position")

// Size returns the number of events that have a position: the newest position.
func (l *Log) Size(ctx context.Context) (uint64, error) {
	newest, err := l.newest(ctx)
	return newest.Size, err
}

// Read calls handle with the events after a position, up to the newest position. It returns the last position that handle was
// called with, or after. It does not wait for events. An error of handle ends the reading. A position above the newest one is
// ErrBeyond.
func (l *Log) Read(ctx context.Context, after uint64, handle func(Event) error) (uint64, error) {
	newest, err := l.newest(ctx)
	if err != nil {
		return after, err
	}
	if after > newest.Size {
		return after, fmt.Errorf("%w: %d; the newest is %d", ErrBeyond, after, newest.Size)
	}
	return l.readTo(ctx, after, newest, handle)
}

// Follow is Read that waits for further events at the end of the log, until ctx ends or handle fails.
func (l *Log) Follow(ctx context.Context, after uint64, handle func(Event) error) error {
	for {
		newest, err := l.newest(ctx)
		if err != nil {
			return err
		}
		if after > newest.Size {
			return fmt.Errorf("%w: %d; the newest is %d", ErrBeyond, after, newest.Size)
		}
		if after, err = l.readTo(ctx, after, newest, handle); err != nil {
			return err
		}
		if err := l.store.Checkpoints().Await(ctx, newest.Number); err != nil {
			return err
		}
	}
}

// Await returns when an event has a position above after, or when ctx ends.
func (l *Log) Await(ctx context.Context, after uint64) error {
	for {
		newest, err := l.newest(ctx)
		if err != nil || newest.Size > after {
			return err
		}
		if err := l.store.Checkpoints().Await(ctx, newest.Number); err != nil {
			return err
		}
	}
}

// readTo is Read up to the end of a checkpoint.
func (l *Log) readTo(ctx context.Context, after uint64, newest checkpoint.Checkpoint, handle func(Event) error) (uint64, error) {
	if after == newest.Size {
		return after, nil
	}
	before, err := l.before(ctx, after+1, newest)
	if err != nil {
		return after, err
	}
	for before.Number < newest.Number {
		next, err := l.checkpoint(ctx, before.Number+1)
		if err != nil {
			return after, err
		}
		r := &reading{Log: l, before: before, covers: next, position: before.Size, after: after, handle: handle}
		if err := r.run(ctx); err != nil {
			return r.after, err
		}
		after, before = r.after, next
	}
	return after, nil
}

// before returns the last checkpoint that does not cover a position; the zero checkpoint covers nothing. The search goes down
// powers of two, so that every search reads the same checkpoints first.
func (l *Log) before(ctx context.Context, position uint64, newest checkpoint.Checkpoint) (checkpoint.Checkpoint, error) {
	var before checkpoint.Checkpoint
	for step := uint64(1) << bits.Len64(newest.Number); step > 0; step >>= 1 {
		if before.Number+step >= newest.Number {
			continue
		}
		c, err := l.checkpoint(ctx, before.Number+step)
		if err != nil {
			return before, err
		}
		if c.Size < position {
			before = c
		}
	}
	return before, nil
}

// newest returns the newest durable checkpoint; the zero value in a new log.
func (l *Log) newest(ctx context.Context) (checkpoint.Checkpoint, error) {
	newest, err := l.store.Checkpoints().Last(ctx)
	if errors.Is(err, eventstore.ErrNotFound) {
		return newest, nil
	}
	if err != nil {
		return newest, fmt.Errorf("ordered: %w", err)
	}
	l.keep(newest)
	return newest, nil
}

// checkpoint returns the durable checkpoint of a number.
func (l *Log) checkpoint(ctx context.Context, number uint64) (checkpoint.Checkpoint, error) {
	l.mu.Lock()
	c, known := l.known[number]
	l.mu.Unlock()
	if known {
		return c, nil
	}
	c, err := l.store.Checkpoints().At(ctx, number)
	if err != nil {
		return c, fmt.Errorf("ordered: checkpoint %d: %w", number, err)
	}
	l.keep(c)
	return c, nil
}

// keep caches a checkpoint without its edge. A full cache is emptied.
func (l *Log) keep(c checkpoint.Checkpoint) {
	c.Edge, c.Root, c.Signature = nil, nil, ""
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.known) >= cached {
		clear(l.known)
	}
	l.known[c.Number] = c
}
