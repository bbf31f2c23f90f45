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

// recording is a shard that takes every record, in a group of its own.
type recording struct {
	Shard
	all []*format.Recorded
}

func (s *recording) CatchUp(context.Context) error { return nil }

func (s *recording) Newest() (format.Head, <-chan struct{}, error) {
	n := uint64(len(s.all))
	return format.Head{Link: format.Link{Seq: n}, Events: n, Last: format.At(n, 0)}, nil, nil
}

func (s *recording) Group(_ context.Context, seq uint64) (*format.Group, error) {
	return &format.Group{Seq: seq, Events: seq - 1, Frames: s.all[seq-1 : seq]}, nil
}

func (s *recording) Tip(format.Key) (*format.Recorded, error) {
	if len(s.all) == 0 {
		return nil, nil
	}
	return s.all[len(s.all)-1], nil
}

func (s *recording) Append(_ context.Context, r *format.Recorded) error {
	s.all = append(s.all, r)
	r.Seq = format.At(uint64(len(s.all)), 0)
	return nil
}

// newest returns the newest checkpoint of the shard.
func (s *recording) newest(t *testing.T) checkpoint.Checkpoint {
	t.Helper()
	c, err := checkpoint.Of(s.all[len(s.all)-1])
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func newSigner(t *testing.T) note.Signer {
	t.Helper()
	private, _, err := note.GenerateKey(rand.Reader, proof.FirstOrigin)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := note.NewSigner(private)
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

func leafOf(n uint64) format.Hash {
	return format.Hash(binary.BigEndian.AppendUint64(make([]byte, 24), n))
}

// TestEdgeEvents: however few checkpoints there are, one in 16,384 events has the edge of the tree.
// So a start reads at most as many events.
func TestEdgeEvents(t *testing.T) {
	t.Parallel()
	signer, s := newSigner(t), &recording{}
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
			if err := tree.Add(leafOf(size)); err != nil {
				t.Fatal(err)
			}
		}
		var err error
		if before, err = l.write(t.Context(), signer, before, tree, []uint64{size}, []uint64{size}); err != nil {
			t.Fatal(err)
		}
		if got := s.newest(t); got.Size != size || len(got.Edge) > 0 != c.edge {
			t.Errorf("the checkpoint of %d events has %d hashes of the edge", got.Size, len(got.Edge))
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
