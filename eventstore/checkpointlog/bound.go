package checkpointlog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"payledger/eventstore/checkpoint"
	"payledger/eventstore/due"
)

// A bound is a moment of the log, as the number of events of each shard, at which a checkpoint must
// end. Every event up to the moment then has its position from the log up to the moment alone
// (D22.10): a back-up that ends there needs no later checkpoint, and the log that is restored from
// it gives no event another position.

// endPatience bounds the wait for the checkpoint of a moment.
const endPatience = 30 * time.Second

// ErrUncovered means that no checkpoint covers the newest events.
var ErrUncovered = errors.New("the newest events have no checkpoint, so their positions are not fixed yet")

type bounds struct {
	deciding sync.Mutex    // locked while a checkpoint is decided and appended, and while a moment is taken
	ends     [][]uint64    // moments that are not covered yet, in their order; guarded by deciding
	ending   chan struct{} // holds one during an EndAt
	hurry    chan struct{} // of the writer
}

// Hurry lets the writer write the next checkpoints at once for a short time.
func (b *bounds) Hurry() { due.Signal(b.hurry) }

// Bound lets a checkpoint end at a moment. The moments of later calls are not before it.
func (l *Log) Bound(events []uint64) {
	l.deciding.Lock()
	defer l.deciding.Unlock()
	l.ends = append(l.ends, events)
}

// bound returns the next moment after the newest checkpoint at which a checkpoint must end; nil if
// there is none. A shard that is damaged reaches no moment. The caller holds the lock.
func (l *Log) bound(newest checkpoint.Checkpoint) []uint64 {
	for len(l.ends) > 0 {
		if slices.ContainsFunc(l.Damaged(), func(shard int) bool { return shard < l.Shards && newest.EventsOf(shard) < l.ends[0][shard] }) {
			l.ends = nil
			break
		}
		for shard, events := range l.ends[0] {
			if newest.EventsOf(shard) < events {
				return l.ends[0]
			}
		}
		l.ends = l.ends[1:]
	}
	return nil
}

func (l *Log) unbound(events []uint64) {
	l.deciding.Lock()
	defer l.deciding.Unlock()
	l.ends = slices.DeleteFunc(l.ends, func(other []uint64) bool { return &other[0] == &events[0] })
}

// EndAt calls moment, which returns the number of events of each shard at one moment, and waits for
// the checkpoint that covers exactly these events. The zero Checkpoint is that of a log without
// events.
func (l *Log) EndAt(ctx context.Context, moment func() []uint64) (checkpoint.Checkpoint, error) {
	select {
	case l.ending <- struct{}{}:
		defer func() { <-l.ending }()
	case <-ctx.Done():
		return checkpoint.Checkpoint{}, ctx.Err()
	}
	waiting, cancel := context.WithTimeout(ctx, endPatience)
	defer cancel()
	for {
		l.deciding.Lock()
		events := moment()
		l.ends = append(l.ends, events)
		l.deciding.Unlock()
		c, err := l.endAt(waiting, events)
		l.unbound(events)
		switch {
		case err == nil:
			return c, nil
		case ctx.Err() == nil && waiting.Err() != nil:
			return c, fmt.Errorf("%w after %s: see the log of the service for the reason", ErrUncovered, endPatience)
		case !errors.Is(err, errPassed):
			return c, err
		}
	}
}

// Cover returns when a checkpoint covers the events that size counts. It hastens the writer.
func (l *Log) Cover(ctx context.Context, size func() uint64) error {
	for {
		newest, err := l.Last(ctx)
		if err != nil && !isNone(err) {
			return err
		}
		if newest.Size >= size() {
			return nil
		}
		l.Hurry()
		if err := l.Await(ctx, newest.Number); err != nil {
			return err
		}
	}
}

// errPassed means that another process wrote a checkpoint over the moment.
var errPassed = errors.New("checkpointlog: a checkpoint covers events after the moment")

func (l *Log) endAt(ctx context.Context, events []uint64) (c checkpoint.Checkpoint, err error) {
	size := uint64(0)
	for _, n := range events {
		size += n
	}
	for {
		newest, err := l.Last(ctx)
		if size == 0 || err != nil && !isNone(err) {
			return c, err
		}
		if newest.Size >= size {
			before, err := Order{log: l, last: newest}.search(ctx, func(c checkpoint.Checkpoint) bool { return c.Size < size })
			if err == nil {
				c, err = l.Mark(ctx, before.Number+1)
			}
			if err == nil && !slices.Equal(c.Events, events) {
				err = errPassed
			}
			return c, err
		}
		l.Hurry()
		if err := l.Await(ctx, newest.Number); err != nil {
			return c, err
		}
	}
}
