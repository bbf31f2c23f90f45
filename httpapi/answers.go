package httpapi

import (
	"maps"
	"sync"
)

// answers counts requests by the status that they ended with.
type answers struct {
	mu    sync.Mutex
	count map[int]uint64
}

func (a *answers) add(status int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.count == nil {
		a.count = map[int]uint64{}
	}
	a.count[status]++
}

// Answers returns how many requests ended with each status since the start. 499 are those whose caller went away before
// the answer.
func (a *API) Answers() map[int]uint64 {
	a.answered.mu.Lock()
	defer a.answered.mu.Unlock()
	return maps.Clone(a.answered.count)
}
