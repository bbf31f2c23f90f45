package notifier

import (
	"maps"
	"slices"
	"sync"
)

// health is what is wrong now, by what it concerns.
type health struct {
	mu       sync.Mutex
	problems map[string]error
}

// set notes a trouble; true when it is new.
func (h *health) set(what string, err error) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, old := h.problems[what]
	if h.problems == nil {
		h.problems = map[string]error{}
	}
	h.problems[what] = err
	return !old
}

func (h *health) clear(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.problems, what)
}

// first gives one of the troubles, the same as long as they are the same.
func (h *health) first() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.problems) == 0 {
		return nil
	}
	return h.problems[slices.Min(slices.Collect(maps.Keys(h.problems)))]
}
