package ownership_test

import (
	"slices"
	"testing"

	"payledger/eventstore/ownership"
)

// TestShare: whatever the owners are, handing shards over one after the other ends, and then no
// node has two more than another.
func TestShare(t *testing.T) {
	serving := []string{"a", "b", "c"}
	for shards := range 12 {
		for first := range 3 {
			var s ownership.Share
			owners := slices.Repeat([]string{serving[first]}, shards)
			for moves := 0; ; moves++ {
				moved := false
				for _, self := range serving {
					if heir := s.Surplus(self, serving, owners); heir != "" {
						owners[slices.Index(owners, self)], moved = heir, true
					}
				}
				if !moved {
					break
				}
				if moves > shards {
					t.Fatalf("%d shards of %s are handed over for ever: %v", shards, serving[first], owners)
				}
			}
			counts := map[string]int{}
			for _, owner := range owners {
				counts[owner]++
			}
			for _, a := range serving {
				for _, b := range serving {
					if counts[a] > counts[b]+1 {
						t.Errorf("%d shards: %v", shards, counts)
					}
				}
			}
		}
	}
}

func TestHeir(t *testing.T) {
	var s ownership.Share
	owners := []string{"a", "a", "b", ""}
	if heir := s.Heir("a", []string{"a", "b", "c"}, owners, ""); heir != "c" {
		t.Errorf("the heir of a is %q", heir)
	}
	s.Shun("c") // it gave a shard away, or died with one
	if heir := s.Heir("a", []string{"a", "b", "c"}, owners, ""); heir != "b" {
		t.Errorf("the heir of a is %q while c is shunned", heir)
	}
	if heir := s.Heir("a", []string{"a", "c"}, owners, ""); heir != "c" || s.Surplus("a", []string{"a", "c"}, owners) != "" {
		t.Errorf("the heir of a is %q while every other node is shunned", heir)
	}
	if heir := s.Heir("a", []string{"a"}, owners, ""); heir != ownership.Anyone {
		t.Errorf("the heir of a is %q without another node", heir)
	}
	if heir := s.Heir("a", []string{"a", "b", "c"}, owners, "b"); heir != "c" {
		t.Errorf("the heir of a is %q for a shard that b gave it", heir)
	}
	if heir := s.Heir("a", []string{"a", "b"}, owners, "b"); heir != ownership.Anyone {
		t.Errorf("the heir of a is %q for a shard that the only other node gave it", heir)
	}
}

// TestOwners: guests own shards only if nobody else serves.
func TestOwners(t *testing.T) {
	for _, c := range []struct{ serving, guests, want []string }{
		{[]string{"a", "b"}, nil, []string{"a", "b"}},
		{[]string{"a", "b", "c"}, []string{"b", "gone"}, []string{"a", "c"}},
		{[]string{"b", "c"}, []string{"b", "c"}, []string{"b", "c"}},
		{nil, []string{"b"}, nil},
	} {
		if got := ownership.Owners(c.serving, c.guests); !slices.Equal(got, c.want) {
			t.Errorf("of %v with the guests %v: %v", c.serving, c.guests, got)
		}
	}
}
