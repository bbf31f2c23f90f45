package checkpointlog

import "testing"

// TestLeft: events that two checkpoints of another node in a row left out are noticed, in each
// shard. New ones are not: the next checkpoint may cover them.
func TestLeft(t *testing.T) {
	t.Parallel()
	w := &Writer{pending: make([][]leaf, 2), first: make([]uint64, 2)}
	for i, c := range []struct {
		pending [2][]leaf
		want    bool
	}{
		{[2][]leaf{}, false},
		{[2][]leaf{{{seq: 5}}, {{seq: 8}}}, false},
		{[2][]leaf{{{seq: 7}}, {{seq: 8}, {seq: 9}}}, true},
		{[2][]leaf{{{seq: 8}}, nil}, false},
		{[2][]leaf{nil, {{seq: 8}}}, false},
	} {
		copy(w.pending, c.pending[:])
		if got := w.left(); got != c.want {
			t.Errorf("look %d: %t", i, got)
		}
	}
}
