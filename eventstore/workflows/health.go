package workflows

import (
	"errors"
	"sync"
)

// health is the reason why events are not planned.
type health struct {
	mu      sync.Mutex
	ended   error // permanent
	trouble error // retried
}

var (
	errStopped = errors.New("workflows: events are not planned any more")
	errTrouble = errors.New("workflows: an event cannot be planned; trying again")
)

func (h *health) stopped(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = errors.Join(errStopped, err)
}

// set sets the trouble, and reports whether there was none before.
func (h *health) set(err error) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.trouble
	h.trouble = errors.Join(errTrouble, err)
	return before == nil
}

func (h *health) clear() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.trouble = nil
}

func (h *health) err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended != nil {
		return h.ended
	}
	return h.trouble
}
