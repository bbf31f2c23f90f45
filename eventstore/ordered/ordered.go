package ordered

import (
	"context"
	"errors"
	"fmt"

	"payledger/eventstore"
	"payledger/eventstore/checkpoint"
	"payledger/eventstore/checkpointlog"
)

// Event is an event with its position in the log, from 1.
type Event struct {
	*eventstore.Recorded
	Position uint64
}

// Store is a store with its checkpoints, which fix the order.
type Store interface {
	eventstore.Store
	Checkpoints() *checkpointlog.Log
}

// Log reads the events of a store in order. All methods may be called from many goroutines.
type Log struct{ store Store }

// New returns the log of a store.
func New(store Store) *Log {
	return &Log{store}
}

// ErrBeyond means that no event has the position yet.
var ErrBeyond = errors.New("ordered: no event has this position")

// Size returns the number of events that have a position: the newest position.
func (l *Log) Size(ctx context.Context) (uint64, error) {
	newest, err := l.newest(ctx, 0)
	return newest.Size, err
}

// Read calls handle with the events after a position, up to the newest position. It returns the
// last position that handle was called with, or after. It does not wait for events. An error of
// handle ends the reading. A position above the newest one is ErrBeyond.
func (l *Log) Read(ctx context.Context, after uint64, handle func(Event) error) (uint64, error) {
	newest, err := l.newest(ctx, after)
	if err != nil {
		return after, err
	}
	return l.readTo(ctx, after, newest, handle)
}

// Follow is Read that waits for further events at the end of the log, until ctx ends or handle
// fails.
func (l *Log) Follow(ctx context.Context, after uint64, handle func(Event) error) error {
	for {
		newest, err := l.newest(ctx, after)
		if err != nil {
			return err
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
		newest, err := l.newest(ctx, 0)
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
	before, err := checkpoint.Search(newest.Number-1, func(number uint64) (checkpoint.Checkpoint, error) { return l.checkpoint(ctx, number) },
		func(c checkpoint.Checkpoint) bool { return c.Size <= after })
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

// newest returns the newest durable checkpoint; the zero value in a new log. ErrBeyond: it does not
// cover a position.
func (l *Log) newest(ctx context.Context, position uint64) (checkpoint.Checkpoint, error) {
	newest, err := l.store.Checkpoints().Last(ctx)
	switch {
	case err != nil && !errors.Is(err, eventstore.ErrNotFound):
		return newest, fmt.Errorf("ordered: %w", err)
	case position > newest.Size:
		return newest, fmt.Errorf("%w: %d; the newest is %d", ErrBeyond, position, newest.Size)
	}
	return newest, nil
}

// checkpoint returns the counts of the checkpoint of a number, which is not after a durable one.
func (l *Log) checkpoint(ctx context.Context, number uint64) (checkpoint.Checkpoint, error) {
	c, err := l.store.Checkpoints().Mark(ctx, number)
	if err != nil {
		return c, fmt.Errorf("ordered: checkpoint %d: %w", number, err)
	}
	return c, nil
}
