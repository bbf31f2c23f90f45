package secrets

import (
	"maps"
	"slices"
	"testing"
	"time"
)

// TestStanding: a key has to stand for two minutes before the eyes of this process. A key that was
// away, or was made anew, begins again.
func TestStanding(t *testing.T) {
	t.Parallel()
	one, two := mark{1}, mark{2}
	var s standing
	for i, c := range []struct {
		at    time.Duration
		marks map[epoch]mark
		want  []epoch
	}{
		{0, map[epoch]mark{1: one}, nil},
		{keyAge - 1, map[epoch]mark{1: one, 2: two}, nil},
		{keyAge, map[epoch]mark{1: one, 2: two}, []epoch{1}},
		{2 * keyAge, map[epoch]mark{1: two, 2: two}, []epoch{2}},
		{3 * keyAge, map[epoch]mark{1: two}, []epoch{1}},
		{4 * keyAge, map[epoch]mark{1: two, 2: two}, []epoch{1}},
	} {
		if got := slices.Sorted(maps.Keys(s.aged(c.at, c.marks))); !slices.Equal(got, c.want) {
			t.Errorf("step %d: %v, want %v", i, got, c.want)
		}
	}
}
