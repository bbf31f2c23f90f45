package health

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// Health is what is wrong now, by what it concerns.
type Health struct {
	mu       sync.Mutex
	problems map[string]error
}

// Set notes a trouble; true when it is new.
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

// First gives one of the troubles, the same as long as they are the same.
func (h *Health) First() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.problems) == 0 {
		return nil
	}
	return h.problems[slices.Min(slices.Collect(maps.Keys(h.problems)))]
}

const (
	// firstBackoff and lastBackoff bound the waits before our own trouble is tried again; a receiver's
	// failure is an outcome.
	firstBackoff = 100 * time.Millisecond
	lastBackoff  = time.Minute
)

// Backoff is the wait after n failures: it doubles.
func Backoff(n int) time.Duration {
	if n >= 10 {
		return lastBackoff
	}
	return min(firstBackoff<<n, lastBackoff)
}

// Pause waits; false when ctx ended first.
func Pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
