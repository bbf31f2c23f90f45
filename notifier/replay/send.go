package replay

import (
	"context"
	"errors"
	"slices"
	"sync"

	"payledger/domain/webhook"
	"payledger/eventstore"
	"payledger/notifier/delivery"
)

// sendAll sends the chunk in order, maxAttempts deliveries at a time, and those of one aggregate
// one after the other. After a failure it begins no other, and waits for those under way.
func (j *job) sendAll(ctx context.Context) error {
	q := newQueue(j.chunk)
	var running sync.WaitGroup
	for range min(maxAttempts, len(j.chunk)) {
		running.Go(func() {
			for one := q.take(ctx); one != nil; one = q.take(ctx) {
				counted, err := j.do(ctx, one)
				q.ended(one, counted, err)
			}
		})
	}
	running.Wait()
	j.replay.Done += q.done
	if q.first == nil && q.next < len(j.chunk) {
		return ctx.Err()
	}
	return q.first
}

// queue passes the tasks of a chunk to the workers.
type queue struct {
	mu    sync.Mutex
	free  sync.Cond // signals that an aggregate has no task under way any more
	chunk []task
	next  int                     // place of the next task in chunk
	busy  map[eventstore.Key]bool // aggregates that have a task under way
	done  int                     // tasks that count as done
	first error                   // of the tasks
}

func newQueue(chunk []task) *queue {
	q := &queue{chunk: chunk, busy: map[eventstore.Key]bool{}}
	q.free.L = &q.mu
	return q
}

// take returns the next task, once no earlier task of its aggregate is under way. It returns nil
// after the last task, after a failure, or when ctx has ended.
func (q *queue) take(ctx context.Context) *task {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.first == nil && ctx.Err() == nil && q.next < len(q.chunk) {
		one := &q.chunk[q.next]
		if !q.busy[one.event.Key] {
			q.busy[one.event.Key] = true
			q.next++
			return one
		}
		q.free.Wait() // the task under way ends, at the latest soon after ctx
	}
	return nil
}

// ended notes the end of a task. counted reports whether it adds one to the replay's Done.
func (q *queue) ended(one *task, counted bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.busy, one.event.Key)
	q.free.Broadcast()
	one.done = err == nil
	switch {
	case err == nil && counted:
		q.done++
	case err != nil && q.first == nil:
		q.first = err
	}
}

// do executes the step of one delivery. counted reports whether the delivery adds one to the
// replay's Done.
func (j *job) do(ctx context.Context, one *task) (counted bool, err error) {
	what, name, err := j.stepOf(ctx, &j.replay, one.event, one.candidate)
	one.name = name
	if err != nil || slices.Contains(j.skip, name) {
		return false, err
	}
	if what == stepResend || what == stepPlan {
		if err := j.pace.Wait(ctx); err != nil {
			return false, err
		}
	}
	if err := j.owns(); err != nil {
		return false, err
	}
	switch what {
	case stepResend:
		err = j.Notifier.ResendUntil(ctx, j.cut, j.replay.Account, name, j.owns)
		if errors.Is(err, delivery.ErrMaxManual) { // it was sent often enough, and does not hold up the others
			err = nil
		}
	case stepPlan:
		err = j.planAndWait(ctx, one)
	}
	return what != stepNone, err
}

// planAndWait plans a delivery and waits for its first attempt, so that a replay does not fill the
// endpoint's lane, which live webhooks use too. The lane sends a planned delivery even if ctx ends.
func (j *job) planAndWait(ctx context.Context, one *task) error {
	first := j.attempts.await(one.name)
	created, err := j.Notifier.Plan(ctx, one.event, j.replay.Endpoint, []webhook.Kind{one.candidate.Kind})
	if err != nil || len(created) == 0 {
		j.attempts.recorded(one.name)
		return err
	}
	select {
	case <-first:
	case <-ctx.Done():
	}
	return nil
}
