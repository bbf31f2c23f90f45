package nodes

import (
	"slices"
	"testing"
	"time"
)

// TestChoice: the node with the fewest calls under way is called first. A node that does not
// take a call is called last, for a while or until it takes a call.
func TestChoice(t *testing.T) {
	t.Parallel()
	var v Choice
	now := time.Now()
	first := func(want ...string) {
		t.Helper()
		for range 20 { // equals are at random
			if got := v.Order([]string{"a", "b", "c"}, now); !slices.Equal(got[:len(want)], want) {
				t.Fatalf("the order is %v, want %v first", got, want)
			}
		}
	}
	slow, busy := v.Begin("a"), v.Begin("b")
	alsoSlow := v.Begin("a")
	first("c", "b", "a")
	busy(Taken)
	slow(Taken)
	alsoSlow(Taken)
	seen := map[string]bool{}
	for range 200 {
		seen[v.Order([]string{"a", "b", "c"}, now)[0]] = true
	}
	if len(seen) != 3 || len(v.calls) != 0 {
		t.Errorf("of three equal nodes %v were first; under way: %v", seen, v.calls)
	}
	v.Begin("c")(NotTaken)
	v.Begin("b")(NotTaken)
	first("a", "c", "b")
	v.Begin("c")(GivenUp)
	first("a", "c", "b")
	v.Begin("b")(Taken)
	end := v.Begin("b")
	first("a", "b", "c")
	end(Taken)
	now = now.Add(avoidFor + time.Minute)
	v.Begin("a")
	if got := v.Order([]string{"a", "b", "c"}, now); got[2] != "a" {
		t.Errorf("after a while the order is %v", got)
	}
}
