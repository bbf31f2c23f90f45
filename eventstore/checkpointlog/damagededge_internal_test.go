package checkpointlog

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"payledger/eventstore/checkpoint"
	"payledger/eventstore/fault"
	"payledger/eventstore/format"
)

// events is a reader of events that a test sends.
type events chan *format.Recorded

func (e events) Events() <-chan *format.Recorded { return e }
func (events) Stop()                             {}

// event is the event with a number, in a group of its own.
func event(n uint64) *format.Recorded {
	g := format.Group{Seq: n, Events: n - 1, Frames: []*format.Recorded{{Hash: leafOf(n)}}}
	g.Place()
	return g.Frames[0]
}

// TestDamageBehindTheEdge: the newest checkpoint has no edge of the tree, and an event after the
// last edge cannot be read. The node starts, and writes no checkpoint. It goes on from the next
// edge that another node writes. Without a damaged shard the same error ends the start: the log has
// lost events.
func TestDamageBehindTheEdge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signer, s := newSigner(t), &recording{}
		damaged := []int{0}
		bad := fault.Damage("LEDGER_0_1", 2, errors.New("a test"))
		l := New(Config{
			Shard: s, Shards: 1, Now: time.Now, Log: zerolog.Nop(), Room: func() error { return nil }, Damaged: func() []int { return damaged },
			Groups: func(context.Context, int, uint64, uint64, func(*format.Group) error) error { return bad },
		})
		other := New(Config{Shard: s, Shards: 1, Now: time.Now, Room: l.Room}) // has the edge in memory
		var before checkpoint.Checkpoint
		tree := before.Tree()
		size := uint64(0)
		writes := func() {
			size++
			err := tree.Add(leafOf(size))
			if err == nil {
				before, err = other.write(t.Context(), signer, before, tree, []uint64{size}, []uint64{size})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		for range 3 {
			writes()
		}
		reader := make(events)
		register := func(string, []uint64) events { return reader }
		damaged = nil
		if _, err := NewWriter(t.Context(), l, register, signer); !errors.Is(err, fault.ErrUnhealthy) {
			t.Errorf("without a damaged shard: %v", err)
		}
		damaged = []int{0}
		w, err := NewWriter(t.Context(), l, register, signer)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- w.Run(ctx) }()
		reader <- event(4)
		<-time.After(10 * edgePause)
		synctest.Wait()
		if got := s.newest(t); got.Size != 3 {
			t.Errorf("a checkpoint of %d events was written", got.Size)
		}
		for size < edgeEvery+1 {
			writes()
		}
		reader <- event(size + 1)
		<-time.After(edgePause)
		synctest.Wait()
		if got := s.newest(t); got.Size != size+1 || got.Number != uint64(len(s.all)) {
			t.Errorf("the newest checkpoint covers %d of %d events", got.Size, size+1)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
