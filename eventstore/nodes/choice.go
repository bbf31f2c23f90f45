package nodes

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// avoidFor is how long a node that did not take a call is called after the others. A node that is
// gone has left the registry by then.
const avoidFor = DefaultSilence

// Choice chooses among nodes that can take the same calls: one slow or frozen node must not hold
// all calls of this one. The zero Choice has met no node.
type Choice struct {
	mu    sync.Mutex
	calls map[string]int       // under way, by node
	avoid map[string]time.Time // nodes that did not take a call, until then
}

// Order returns nodes in the order in which they are called: those with the fewest calls under way
// first, at random among equals.
func (v *Choice) Order(ids []string, now time.Time) []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	for id, until := range v.avoid {
		if now.After(until) {
			delete(v.avoid, id)
		}
	}
	rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] }) //nolint:gosec // no secret
	slices.SortStableFunc(ids, func(a, b string) int {
		return cmp.Or(v.avoid[a].Compare(v.avoid[b]), cmp.Compare(v.calls[a], v.calls[b]))
	})
	return ids
}

// Verdict is what a call says about a node.
type Verdict int

// The verdicts.
const (
	Taken Verdict = iota
	NotTaken
	GivenUp // soon
)

// Begin counts a call. Call end when the call is over.
func (v *Choice) Begin(id string) (end func(Verdict)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.calls == nil {
		v.calls, v.avoid = map[string]int{}, map[string]time.Time{}
	}
	v.calls[id]++
	return func(was Verdict) {
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.calls[id]--; v.calls[id] == 0 {
			delete(v.calls, id)
		}
		switch was {
		case Taken:
			delete(v.avoid, id)
		case NotTaken:
			v.avoid[id] = time.Now().Add(avoidFor)
		}
	}
}
