package replay

import (
	"context"
	"slices"
	"sync"

	"payledger/domain/webhook"
)

// sendAll sends the chunk in order, maxAttempts deliveries at a time. After a failure it begins no
// other, and waits for those under way.
func (j *job) sendAll(ctx context.Context) error {
	var (
		mu      sync.Mutex
		first   error
		next    int
		running sync.WaitGroup
	)
	following := func() *task {
		mu.Lock()
		defer mu.Unlock()
		if first != nil || ctx.Err() != nil || next == len(j.chunk) {
			return nil
		}
		next++
		return &j.chunk[next-1]
	}
	for range min(maxAttempts, len(j.chunk)) {
		running.Go(func() {
			for one := following(); one != nil; one = following() {
				counted, err := j.do(ctx, one)
				mu.Lock()
				if one.done = err == nil; counted && err == nil {
					j.replay.Done++
				}
				if err != nil && first == nil {
					first = err
				}
				mu.Unlock()
			}
		})
	}
	running.Wait()
	if first == nil && next < len(j.chunk) {
		return ctx.Err()
	}
	return first
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
	switch what {
	case stepResend:
		err = j.Notifier.ResendUntil(ctx, j.cut, j.replay.Account, name)
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
