package validation

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestNames: a name is reported from its second time on, whatever their number.
func TestNames(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for _, most := range []int{3, fewNames, fewNames + 1, 100, mostNoted} {
		var n names
		seen := map[string]bool{}
		for range 2 * most {
			name := fmt.Sprint(random.IntN(most))
			if twice := n.note(name); twice != seen[name] {
				t.Fatalf("of %d names %q was seen: %t, reported: %t", most, name, seen[name], twice)
			}
			seen[name] = true
		}
		if len(n.all) != len(seen) {
			t.Errorf("%d names, and %d are noted", len(seen), len(n.all))
		}
	}
}
