package workflows

import (
	"errors"
	"sync"
)

var (
	errStopped = errors.New("workflows: events are not planned any more")
	errTrouble = errors.New("workflows: an event cannot be planned; trying again")
)

// health is the reason why events are not planned; nil: they are.
type health struct {
	mu      sync.Mutex
	problem error
}

// set sets or clears (nil) the problem, and reports whether there was none before.
func (h *health) set(problem error) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.problem
	h.problem = problem
	return before == nil
}

func (h *health) err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.problem
}
