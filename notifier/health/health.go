package health

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"payledger/domain/process"
	"payledger/eventstore/due"
)

// Health holds the present problems by name.
type Health struct {
	mu       sync.Mutex
	problems map[string]error
}

// Set notes a problem, and reports whether there was none of this name.
func (h *Health) Set(what string, err error) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, old := h.problems[what]
	if h.problems == nil {
		h.problems = map[string]error{}
	}
	h.problems[what] = err
	return !old
}

// Clear removes a problem.
func (h *Health) Clear(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.problems, what)
}

// First returns the problem whose name sorts first; nil: there is no problem.
func (h *Health) First() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.problems) == 0 {
		return nil
	}
	return h.problems[slices.Min(slices.Collect(maps.Keys(h.problems)))]
}

// Retry calls op until it succeeds (nil) or ctx ends (the context's error). Meanwhile the failure
// is a problem with this name.
func (h *Health) Retry(ctx context.Context, name string, op func() error, onFirstFailure func(error)) error {
	for n := 0; ; n++ {
		err := op()
		if err == nil {
			h.Clear(name)
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if h.Set(name, err) {
			onFirstFailure(err)
		}
		if err := due.Rest(ctx, Backoff(n), nil); err != nil {
			return err
		}
	}
}

const lastBackoff = time.Minute // the longest wait after a problem

// Backoff returns the wait after n failures. It doubles with n, up to lastBackoff.
func Backoff(n int) time.Duration { return min(process.NextInterval(n), lastBackoff) }

// Extend returns a context that ends when a time has passed since ctx ended, or with cancel.
func Extend(ctx context.Context, by time.Duration) (extended context.Context, cancel context.CancelFunc) {
	extended, end := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(by, end) })
	return extended, func() {
		stop()
		end()
	}
}
