package deliveries

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// ErrStopped means that the index does not follow the stream any more.
var ErrStopped = errors.New("deliveries: the index has stopped")

// progress is the index's mark, for callers that wait for a record.
type progress struct {
	mu      sync.Mutex
	at      Mark
	changed chan struct{} // closed and replaced at every change
	stopped error
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

// WaitFor waits until the index shows the record at seq. It returns an error if ctx ends, or ErrStopped after Stop.
func (x *Index) WaitFor(ctx context.Context, seq uint64) error {
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

// Stop ends all waits with ErrStopped: nothing more is applied. why is the cause; nil is an orderly end.
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
