package eventstore_test

import (
	"errors"
	"testing"

	"payledger/eventstore"
	"payledger/eventstore/checkpoint"
)

// TestKeptEdge: after a crash the tip store has the edge of an older checkpoint than the newest. A start goes on from
// there, and notices when the edge is another's.
func TestKeptEdge(t *testing.T) {
	t.Parallel()
	r := sole(t, 2)
	s := r.store()
	w := startCheckpointer(t, s)
	var kept checkpoint.Checkpoint
	for round := range 6 {
		for range 5 {
			mustAdd(t, s, newKey(), added{})
		}
		newest := w.coversNow(t, s)
		if round == 3 {
			var err error
			if kept, err = s.WithEdge(testContext(t)); err != nil || kept.Number != newest.Number {
				t.Fatal(kept.Number, newest.Number, err)
			}
		}
	}
	w.stop(t)
	want, err := s.WithEdge(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.KeepEdge(kept); err != nil {
		t.Fatal(err)
	}
	path, err := s.EdgePath(testContext(t))
	if err != nil || path != int(want.Number-kept.Number) {
		t.Errorf("%d checkpoints were gone back, not %d: %v", path, want.Number-kept.Number, err)
	}
	got, err := s.WithEdge(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "the edge", len(got.Edge), len(want.Edge))
	for i, node := range want.Edge {
		same(t, "a node's index", got.Edge[i].Index, node.Index)
		same(t, "a node's hash", string(got.Edge[i].Hash), string(node.Hash))
	}
	kept.Number++
	if err := s.KeepEdge(kept); err != nil {
		t.Fatal(err)
	}
	if _, err := s.WithEdge(testContext(t)); !errors.Is(err, eventstore.ErrUnhealthy) {
		t.Errorf("the edge of another checkpoint was taken: %v", err)
	}
}
