package turns

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"payledger/eventstore/due"
	"payledger/eventstore/format"
)

const (
	// DefaultPatience is how long other nodes leave an action to the node that wrote the event.
	DefaultPatience = 300 * time.Millisecond
	// look is the time between two looks for the records of other nodes.
	look = 20 * time.Millisecond
	// maxBatches bounds the batches that wait for other nodes. Add then waits, too.
	maxBatches = 64
)

// Queue has the actions of type T that other nodes should take, with the events that cause them.
type Queue[T any] struct {
	// Taken reports whether this node knows that an action was taken. It makes no request.
	Taken func(action T) (bool, error)
	// Act takes the actions that the other nodes did not take in time, as far as nobody has taken
	// them by then.
	Act func(ctx context.Context, actions []T) error
	// Done is called with the events of each Add, in the order of the calls, after all of their
	// actions were taken.
	Done func(events []*format.Recorded)
	// Patience is how long the other nodes have; NewQueue sets DefaultPatience. Set it before Run.
	Patience time.Duration

	batches chan batch[T]
	open    atomic.Int64 // batches
}

type batch[T any] struct {
	events  []*format.Recorded
	actions []T
	since   time.Time
}

// NewQueue returns a queue without actions.
func NewQueue[T any](taken func(T) (bool, error), act func(context.Context, []T) error, done func([]*format.Recorded)) *Queue[T] {
	return &Queue[T]{Taken: taken, Act: act, Done: done, Patience: DefaultPatience, batches: make(chan batch[T], maxBatches)}
}

// Add adds the actions that other nodes should take on account of events. All other actions of
// these events were taken. One goroutine calls Add. It fails if ctx ends.
func (q *Queue[T]) Add(ctx context.Context, events []*format.Recorded, actions []T) error {
	if len(actions) == 0 && q.open.Load() == 0 {
		q.Done(events)
		return nil
	}
	q.open.Add(1)
	select {
	case q.batches <- batch[T]{events, actions, time.Now()}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Plan reads batches of events and plans them, which calls Add, and runs the queue beside that. It
// returns when ctx ends (nil), or with the error of the events that cannot be planned or of the
// actions that cannot be taken. No event is skipped.
func (q *Queue[T]) Plan(parent context.Context, read func(context.Context) ([]*format.Recorded, error), plan func(context.Context, []*format.Recorded) error) error {
	ctx, stop := context.WithCancelCause(parent)
	var waiting sync.WaitGroup
	defer waiting.Wait()
	defer stop(nil) // before the wait, also after a panic
	waiting.Go(func() {
		if err := q.Run(ctx); err != nil {
			stop(err)
		}
	})
	for {
		events, err := read(ctx)
		if err == nil {
			err = plan(ctx, events)
		}
		switch {
		case parent.Err() != nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		}
	}
}

// Run waits for the other nodes, until ctx ends (nil) or an action cannot be taken.
func (q *Queue[T]) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case b := <-q.batches:
			if err := q.settle(ctx, b); err != nil {
				if ctx.Err() != nil {
					return nil
				}
				return err
			}
			q.Done(b.events)
			q.open.Add(-1)
		}
	}
}

// settle returns when all actions of a batch were taken.
func (q *Queue[T]) settle(ctx context.Context, b batch[T]) error {
	for left := b.actions; ; {
		var err error
		if left, err = q.untaken(left); err != nil || len(left) == 0 {
			return err
		}
		if time.Since(b.since) >= q.Patience {
			return q.Act(ctx, left)
		}
		if err := due.Rest(ctx, look, nil); err != nil {
			return err
		}
	}
}

func (q *Queue[T]) untaken(actions []T) (left []T, err error) {
	for _, a := range actions {
		taken, err := q.Taken(a)
		if err != nil {
			return nil, err
		}
		if !taken {
			left = append(left, a)
		}
	}
	return left, nil
}
