package replay

import (
	"context"
	"slices"
	"sync"

	"payledger/domain/webhook"
)

// sendAll sends the chunk in order, maxAttempts deliveries at a time. After a failure it begins no further delivery, and
// returns when the deliveries under way have ended.
func (t *run) sendAll(ctx context.Context) error {
	var (
		mu      sync.Mutex
		first   error
		next    int
		running sync.WaitGroup
	)
	following := func() *task {
		mu.Lock()
		defer mu.Unlock()
		if first != nil || ctx.Err() != nil || next == len(t.chunk) {
			return nil
		}
		next++
		return &t.chunk[next-1]
	}
	for range min(maxAttempts, len(t.chunk)) {
		running.Go(func() {
			for one := following(); one != nil; one = following() {
				counted, err := t.do(ctx, one)
				mu.Lock()
				if one.done = err == nil; counted && err == nil {
					t.replay.Done++
				}
				if err != nil && first == nil {
					first = err
				}
				mu.Unlock()
			}
		})
	}
	running.Wait()
	if first == nil && next < len(t.chunk) {
		return ctx.Err()
	}
	return first
}

// do executes the step of one delivery. counted reports whether the delivery adds one to the replay's Done.
func (t *run) do(ctx context.Context, one *task) (counted bool, err error) {
	what, name, err := t.stepOf(ctx, &t.replay, one.event, one.candidate)
	one.name = name
	if err != nil || slices.Contains(t.skip, name) {
		return false, err
	}
	if what == stepAgain || what == stepAnew {
		if err := t.pace.Wait(ctx); err != nil {
			return false, err
		}
	}
	switch what {
	case stepAgain:
		err = t.Notifier.ResendUntil(ctx, t.cut, t.replay.Account, name)
	case stepAnew:
		err = t.planAndWait(ctx, one)
	}
	return what != stepNone, err
}

// planAndWait plans a delivery and waits for its first attempt, so that a replay does not fill the endpoint's lane, which
// live webhooks use too. The lane sends a planned delivery even if ctx ends.
func (t *run) planAndWait(ctx context.Context, one *task) error {
	first := t.first.await(one.name)
	created, err := t.Notifier.Plan(ctx, one.event, t.replay.Endpoint, []webhook.Kind{one.candidate.Kind})
	if err != nil || len(created) == 0 {
		t.first.recorded(one.name)
		return err
	}
	select {
	case <-first:
	case <-ctx.Done():
	}
	return nil
}
