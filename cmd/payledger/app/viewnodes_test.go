package app

import (
	"slices"
	"testing"
	"time"
)

// TestViewNodes: the node with the fewest calls under way is called first. A node that does not
// take a call is called last, for a while or until it takes a call.
func TestViewNodes(t *testing.T) {
	t.Parallel()
	var v viewNodes
	now := time.Now()
	first := func(want ...string) {
		t.Helper()
		for range 20 { // equals are at random
			if got := v.order([]string{"a", "b", "c"}, now); !slices.Equal(got[:len(want)], want) {
				t.Fatalf("the order is %v, want %v first", got, want)
			}
		}
	}
	slow, busy := v.begin("a"), v.begin("b")
	alsoSlow := v.begin("a")
	first("c", "b", "a")
	busy(wasTaken)
	slow(wasTaken)
	alsoSlow(wasTaken)
	seen := map[string]bool{}
	for range 200 {
		seen[v.order([]string{"a", "b", "c"}, now)[0]] = true
	}
	if len(seen) != 3 || len(v.calls) != 0 {
		t.Errorf("of three equal nodes %v were first; under way: %v", seen, v.calls)
	}
	v.begin("c")(wasNotTaken)
	v.begin("b")(wasNotTaken)
	first("a", "c", "b")
	v.begin("c")(wasGivenUp)
	first("a", "c", "b")
	v.begin("b")(wasTaken)
	end := v.begin("b")
	first("a", "b", "c")
	end(wasTaken)
	now = now.Add(avoidFor + time.Minute)
	v.begin("a")
	if got := v.order([]string{"a", "b", "c"}, now); got[2] != "a" {
		t.Errorf("after a while the order is %v", got)
	}
}
