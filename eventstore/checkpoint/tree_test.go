package checkpoint_test

import (
	"bytes"
	"reflect"
	"testing"

	"payledger/eventstore/checkpoint"
	"payledger/eventstore/format"
)

// TestTreeKeepsOnlyItsEdge: a leaf takes no memory, so that a check of a longer log needs no more.
// The edges that were returned before stay as they were.
func TestTreeKeepsOnlyItsEdge(t *testing.T) {
	tree := checkpoint.Checkpoint{}.Tree()
	add := func() {
		if err := tree.Add(format.Hash{1}); err != nil {
			t.Fatal(err)
		}
	}
	if allocated := testing.AllocsPerRun(4000, add); allocated != 0 {
		t.Errorf("%v allocations for a leaf", allocated)
	}
	for range 3 {
		edge := tree.Edge()
		var before []checkpoint.Node
		for _, n := range edge {
			before = append(before, checkpoint.Node{Index: n.Index, Hash: bytes.Clone(n.Hash)})
		}
		if add(); !reflect.DeepEqual(edge, before) {
			t.Error("a leaf changed an edge that was returned before")
		}
	}
}

// TestTreeRefusesAnotherEdge: a tree has no root if its edge is the edge of another size.
func TestTreeRefusesAnotherEdge(t *testing.T) {
	tree := checkpoint.Checkpoint{}.Tree()
	for range 6 {
		if err := tree.Add(format.Hash{1}); err != nil {
			t.Fatal(err)
		}
	}
	for size := range uint64(8) {
		other := checkpoint.Checkpoint{Size: size, Edge: tree.Edge()}.Tree()
		_, err := other.Root()
		if added := other.Add(format.Hash{1}); (err == nil) != (size == 0 || size == 4 || size == 6) || (err == nil) != (added == nil) {
			t.Errorf("size %d: %v, %v", size, err, added)
		}
	}
}
