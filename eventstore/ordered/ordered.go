package ordered

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"payledger/eventstore"
	"payledger/eventstore/checkpoint"
	"payledger/eventstore/checkpointlog"
	"payledger/eventstore/jetapi"
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
type Log struct {
	store Store
	last  func(context.Context) (checkpoint.Checkpoint, error) // the newest durable checkpoint
	await func(ctx context.Context, after uint64) error        // a checkpoint with a number above after
}

// New returns the log of a store.
func New(store Store) *Log {
	return &Log{
		store: store,
		last:  func(ctx context.Context) (checkpoint.Checkpoint, error) { return store.Checkpoints().Last(ctx) },
		await: func(ctx context.Context, after uint64) error { return store.Checkpoints().Await(ctx, after) },
	}
}

// ErrBeyond means that no event has the position yet.
var ErrBeyond = errors.New("ordered: no event has this position")

// Size returns the number of events that have a position: the newest position.
func (l *Log) Size(ctx context.Context) (uint64, error) {
	newest, err := l.newest(ctx, 0)
	return newest.Size, err
}

// Read calls handle with the events after a position, up to the newest position, which it returns.
// It does not wait for events. An error of handle ends the reading: then Read returns the position
// of the last event that handle took, or after. A position above the newest one is ErrBeyond.
func (l *Log) Read(ctx context.Context, after uint64, handle func(Event) error) (uint64, error) {
	newest, err := l.newest(ctx, after)
	if err != nil {
		return after, err
	}
	return l.readTo(ctx, after, newest, nil, handle)
}

// Follow is Read that waits for further events at the end of the log, until ctx ends or handle
// fails.
func (l *Log) Follow(ctx context.Context, after uint64, handle func(Event) error) error {
	for {
		newest, err := l.newest(ctx, after)
		if err != nil {
			return err
		}
		if after, err = l.readTo(ctx, after, newest, nil, handle); err != nil {
			return err
		}
		if err := l.await(ctx, newest.Number); err != nil {
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
		if err := l.await(ctx, newest.Number); err != nil {
			return err
		}
	}
}

// readTo is Read up to the end of a checkpoint. It passes over checkpoints without a group of the
// parts.
func (l *Log) readTo(ctx context.Context, after uint64, newest checkpoint.Checkpoint, p parts, handle func(Event) error) (uint64, error) {
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
		if !p.between(before, next) {
			if before, err = l.pass(ctx, before, newest, p); err != nil {
				return after, err
			}
			continue
		}
		r := &reading{Log: l, before: before, covers: next, position: before.Size, after: after, handle: handle}
		if err := r.run(ctx); err != nil {
			return r.after, err
		}
		after, before = r.after, next
	}
	return newest.Size, nil
}

// Reach returns nil if the newest checkpoint covers a position, and ErrBeyond if no event has it.
func (l *Log) Reach(ctx context.Context, position uint64) error {
	_, err := l.newest(ctx, position)
	return err
}

// newest returns the newest durable checkpoint; the zero value in a new log. ErrBeyond: it does not
// cover a position. A leader that was cut off shows an old checkpoint for a while, so the log must
// have too few events, too: else newest waits for a checkpoint that covers the position.
func (l *Log) newest(ctx context.Context, position uint64) (checkpoint.Checkpoint, error) {
	waiting, cancel := context.WithTimeout(ctx, jetapi.StaleLeader)
	defer cancel()
	for {
		newest, err := l.last(ctx)
		if err != nil && !errors.Is(err, eventstore.ErrNotFound) {
			return newest, fmt.Errorf("ordered: %w", err)
		}
		if position <= newest.Size {
			return newest, nil
		}
		there, err := l.holds(ctx, position)
		if err != nil {
			return newest, fmt.Errorf("ordered: %w", err)
		}
		if !there {
			return newest, fmt.Errorf("%w: %d; the newest is %d", ErrBeyond, position, newest.Size)
		}
		if err := l.await(waiting, newest.Number); err != nil {
			if !errors.Is(err, eventstore.ErrUnhealthy) {
				err = cmp.Or(ctx.Err(), eventstore.ErrNoMajority)
			}
			return newest, fmt.Errorf("ordered: position %d has no checkpoint: %w", position, err)
		}
	}
}

// holds reports whether the log has as many events as a position says, by every shard's end.
func (l *Log) holds(ctx context.Context, position uint64) (bool, error) {
	for shard := range l.store.Shards() {
		if _, err := l.store.LastSeq(ctx, shard); err != nil {
			return false, err
		}
	}
	return l.store.Events() >= position, nil
}

// checkpoint returns the counts of the checkpoint of a number, which is not after a durable one.
func (l *Log) checkpoint(ctx context.Context, number uint64) (checkpoint.Checkpoint, error) {
	c, err := l.store.Checkpoints().Mark(ctx, number)
	if err != nil {
		return c, fmt.Errorf("ordered: checkpoint %d: %w", number, err)
	}
	return c, nil
}
