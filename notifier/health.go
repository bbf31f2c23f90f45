package notifier

import (
	"maps"
	"slices"
	"sync"
)

// health is what is wrong now, by what it concerns.
type health struct {
	mu       sync.Mutex
	troubles map[string]error
}

// set notes a trouble; true when it is new.
func (h *health) set(what string, err error) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, old := h.troubles[what]
	if h.troubles == nil {
		h.troubles = map[string]error{}
	}
	h.troubles[what] = err
	return !old
}

func (h *health) clear(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.troubles, what)
}

// first gives one of the troubles, the same as long as they are the same.
func (h *health) first() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.troubles) == 0 {
		return nil
	}
	return h.troubles[slices.Min(slices.Collect(maps.Keys(h.troubles)))]
}
