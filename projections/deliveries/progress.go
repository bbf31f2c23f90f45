package deliveries

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// ErrStopped means that the index does not follow the stream any more.
var ErrStopped = errors.New("deliveries: the index has stopped")

const gatherTime = 100 * time.Millisecond

// progress is the index's mark, for callers that wait for a record.
type progress struct {
	mu      sync.Mutex
	at      Mark
	changed chan struct{} // closed and replaced at every change
	stopped error
	hurry   chan struct{} // holds a signal when a caller has begun to wait or to hasten
	waiting atomic.Int64  // callers of WaitFor and Hasten
}

func newProgress(at Mark) *progress {
	return &progress{at: at, changed: make(chan struct{}), hurry: make(chan struct{}, 1)}
}

func (p *progress) set(at Mark) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at = at
	close(p.changed)
	p.changed = make(chan struct{})
}

// Mark returns the last record that the index has applied.
func (x *Index) Mark() Mark {
	x.progress.mu.Lock()
	defer x.progress.mu.Unlock()
	return x.progress.at
}

// WaitFor waits until the index shows the record at seq. It returns an error if ctx ends, or
// ErrStopped after Stop.
func (x *Index) WaitFor(ctx context.Context, seq uint64) error {
	if x.Mark().Seq >= seq {
		return nil
	}
	defer x.Hasten()()
	for p := x.progress; ; {
		p.mu.Lock()
		at, changed, stopped := p.at.Seq, p.changed, p.stopped
		p.mu.Unlock()
		switch {
		case at >= seq:
			return nil
		case stopped != nil:
			return stopped
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("deliveries: at %d, waiting for %d: %w", at, seq, ctx.Err())
		}
	}
}

// Hasten makes the index show records without delay until done is called: Gather does not wait
// meanwhile.
func (x *Index) Hasten() (done func()) {
	p := x.progress
	p.waiting.Add(1)
	select {
	case p.hurry <- struct{}{}:
	default: // another caller has sent the signal
	}
	return func() { p.waiting.Add(-1) }
}

// Gather waits between two calls of Apply, so that records gather and share a transaction. It waits
// for gatherTime, but not while a caller waits for the index or hastens it. It returns an error if
// ctx ends first.
func (x *Index) Gather(ctx context.Context) error {
	p := x.progress
	most := time.NewTimer(gatherTime)
	defer most.Stop()
	for p.waiting.Load() == 0 {
		select {
		case <-p.hurry: // the loop checks waiting again
		case <-most.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return ctx.Err()
}

// Stop ends all waits with ErrStopped: nothing more is applied. why is the cause; nil is an orderly
// end.
func (x *Index) Stop(why error) {
	p := x.progress
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped != nil {
		return
	}
	p.stopped = ErrStopped
	if why != nil {
		p.stopped = fmt.Errorf("%w: %w", ErrStopped, why)
	}
	close(p.changed)
	p.changed = make(chan struct{})
}
