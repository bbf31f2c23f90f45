package checkpointlog_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"payledger/eventstore"
	"payledger/eventstore/checkpoint"
)

// TestEdge: some checkpoints have the edge of the tree. A start continues from the last of them, a
// writer from the edge that it has in memory. A wrong edge is detected.
func TestEdge(t *testing.T) {
	t.Parallel()
	s := open(t, 2)
	log := s.Checkpoints()
	end := checkpoints(t, s, often)
	const newest, memory = 70, 67
	var base checkpoint.Checkpoint
	for n := range uint64(newest) { // a checkpoint for each event
		appendTo(t, s)
		awaitSize(t, s, n+1)
		if n+1 == memory {
			var err error
			if base, err = log.WithEdge(t.Context(), base); err != nil || base.Number != memory {
				t.Fatal(base.Number, err)
			}
		}
	}
	end()
	want, err := log.WithEdge(t.Context(), checkpoint.Checkpoint{})
	if err != nil || want.Number != newest {
		t.Fatal(want.Number, err)
	}
	for path, base := range map[int]checkpoint.Checkpoint{newest - 65: {}, newest - memory: base} {
		if read, err := log.EdgePath(t.Context(), base); err != nil || read != path {
			t.Errorf("from checkpoint %d: %d checkpoints were read back, not %d: %v", base.Number, read, path, err)
		}
		got, err := log.WithEdge(t.Context(), base)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.Edge, got.Edge); diff != "" {
			t.Errorf("from checkpoint %d: the edge (-want +got):\n%s", base.Number, diff)
		}
	}
	base.Edge[0].Hash[0]++
	if _, err := log.WithEdge(t.Context(), base); !errors.Is(err, eventstore.ErrUnhealthy) {
		t.Errorf("a wrong edge was used: %v", err)
	}
	end = checkpoints(t, s, often) // a start continues from it
	appendTo(t, s)
	awaitSize(t, s, newest+1)
	end()
	forged, err := log.WithEdge(t.Context(), checkpoint.Checkpoint{})
	if err != nil {
		t.Fatal(err)
	}
	forged.Edge = slices.Clone(forged.Edge)
	forged.Edge[0].Hash[0]++
	if _, err = log.Put(t.Context(), forged); err != nil {
		t.Fatal(err)
	}
	if _, err = log.WithEdge(t.Context(), checkpoint.Checkpoint{}); !errors.Is(err, eventstore.ErrUnhealthy) {
		t.Errorf("the wrong edge of the newest checkpoint was used: %v", err)
	}
}
