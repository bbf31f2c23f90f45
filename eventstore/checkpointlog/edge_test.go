package checkpointlog_test

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/checkpoint"
	"payledger/eventstore/checkpointlog"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
)

// grow appends five events, and returns the checkpoint that covers them.
func grow(t *testing.T, s *engine.Store) checkpoint.Checkpoint {
	t.Helper()
	for range 5 {
		var b [16]byte
		rand.Read(b[:])
		meta, err := s.NewMeta("tester", "test")
		if err == nil {
			_, err = eventstore.ExecuteNew(t.Context(), s, tallies, tallies.Key("acct", string(domain.NewToken(b))), meta, func(int64) (added, error) { return added{}, nil })
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for newest := uint64(0); ; {
		if err := s.Checkpoints().Await(t.Context(), newest); err != nil {
			t.Fatal(err)
		}
		c, err := s.Checkpoints().Last(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if newest = c.Number; c.Size == s.Events() {
			return c
		}
	}
}

// TestKeptEdge: after a crash the tip store has the edge of an older checkpoint than the newest. A
// start continues from that edge, and detects an edge of another checkpoint.
func TestKeptEdge(t *testing.T) {
	t.Parallel()
	config := eventstoretest.Config(eventstoretest.Server(t, t.TempDir()))
	config.Shards = 2
	s := eventstoretest.OpenOn(t, config)
	signer, _, err := eventstoretest.Secrets(t, s).CheckpointSigner(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	log, fanout := s.Checkpoints(), eventstore.NewFanout(s)
	w, err := checkpointlog.NewWriter(t.Context(), log, fanout.Reader, signer)
	if err != nil {
		t.Fatal(err)
	}
	w.Every = time.Millisecond
	ctx, stop := context.WithCancel(t.Context())
	var loops sync.WaitGroup
	for _, run := range []func(context.Context) error{w.Run, fanout.Run} {
		loops.Go(func() {
			if err := run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	var kept checkpoint.Checkpoint
	for round := range 6 {
		newest := grow(t, s)
		if round == 3 {
			if kept, err = log.WithEdge(t.Context()); err != nil || kept.Number != newest.Number {
				t.Fatal(kept.Number, newest.Number, err)
			}
		}
	}
	stop()
	loops.Wait()
	want, err := log.WithEdge(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	log.KeepEdge(kept)
	path, err := log.EdgePath(t.Context())
	if err != nil || path != int(want.Number-kept.Number) {
		t.Errorf("%d checkpoints were read back, not %d: %v", path, want.Number-kept.Number, err)
	}
	got, err := log.WithEdge(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Edge, got.Edge); diff != "" {
		t.Errorf("the edge (-want +got):\n%s", diff)
	}
	kept.Number++
	log.KeepEdge(kept)
	if _, err := log.WithEdge(t.Context()); !errors.Is(err, eventstore.ErrUnhealthy) {
		t.Errorf("the edge of another checkpoint was used: %v", err)
	}
}
