package checkpointlog

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"payledger/eventstore/checkpoint"
	"payledger/eventstore/format"
	"payledger/eventstore/proof"
)

// recording is a shard that takes every record.
type recording struct {
	Shard
	newest *format.Recorded
}

func (s *recording) Tip(format.Key) (*format.Recorded, error) { return s.newest, nil }

func (s *recording) Append(_ context.Context, r *format.Recorded) error {
	r.Seq = format.At(r.Revision, 0)
	s.newest = r
	return nil
}

// TestEdgeEvents: however few checkpoints there are, one in 16,384 events has the edge of the tree.
// So a start reads at most as many events.
func TestEdgeEvents(t *testing.T) {
	t.Parallel()
	private, _, err := note.GenerateKey(rand.Reader, proof.FirstOrigin)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := note.NewSigner(private)
	if err != nil {
		t.Fatal(err)
	}
	s := &recording{}
	l := New(Config{Shard: s, Shards: 1, Now: time.Now, Room: func() error { return nil }})
	var before checkpoint.Checkpoint
	tree := before.Tree()
	size := uint64(0)
	for _, c := range []struct {
		events uint64 // after the checkpoint before
		edge   bool
	}{{1, true}, {16_383, false}, {1, true}, {1, false}, {16_382, false}, {1, true}, {40_000, true}, {16_383, false}, {40_000, true}} {
		for range c.events {
			size++
			if err := tree.Add(format.Hash(binary.BigEndian.AppendUint64(make([]byte, 24), size))); err != nil {
				t.Fatal(err)
			}
		}
		if before, err = l.write(t.Context(), signer, before, tree, []uint64{size}, []uint64{size}); err != nil {
			t.Fatal(err)
		}
		got, err := checkpoint.Of(s.newest)
		if err != nil || got.Size != size || len(got.Edge) > 0 != c.edge {
			t.Errorf("the checkpoint of %d events has %d hashes of the edge: %v", got.Size, len(got.Edge), err)
		}
	}
}

// TestEndWaits: a back-up that waits for the moment of another one ends with its own time.
func TestEndWaits(t *testing.T) {
	t.Parallel()
	l := New(Config{})
	l.ending <- struct{}{} // another one looks for its moment
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := l.EndAt(ctx, func() []uint64 { return nil })
		ended <- err
	}()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it got %v", err)
	}
}
