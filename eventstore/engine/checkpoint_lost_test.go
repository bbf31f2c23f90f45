package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"payledger/eventstore"
	"payledger/eventstore/checkpoint"
	"payledger/eventstore/checkpointlog"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/format"
)

// TestCheckpointAlreadyStored: a checkpoint is stored, and the checkpointer does not know it, as
// after an append without an answer. A reader that waits for it gets it, its event has a position,
// and the checkpointer goes on behind it.
func TestCheckpointAlreadyStored(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	config := eventstoretest.Config(eventstoretest.Server(t, t.TempDir()))
	s := eventstoretest.OpenOn(t, config)
	signer, _, err := eventstoretest.Secrets(t, s).CheckpointSigner(ctx)
	if err != nil {
		t.Fatal(err)
	}
	fanout := eventstore.NewFanout(s)
	w, err := checkpointlog.NewWriter(ctx, s.Checkpoints(), fanout.Reader, signer)
	if err != nil {
		t.Fatal(err)
	}
	w.Every = time.Millisecond
	r := mustAdd(t, s, newKey(), added{}).Recorded
	tree, lastSeq, events := checkpoint.Checkpoint{}.Tree(), make([]uint64, s.Shards()), make([]uint64, s.Shards())
	lastSeq[r.Shard], events[r.Shard] = format.GroupOf(r.Seq), 1
	if err := tree.Add(r.Hash); err != nil {
		t.Fatal(err)
	}
	c, err := checkpoint.Sign(signer, tree, lastSeq, events)
	if err != nil {
		t.Fatal(err)
	}
	waiting := make(chan error, 1)
	go func() { waiting <- s.Checkpoints().Await(ctx, 0) }()
	putCheckpoint(t, s, c, true)
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 2)
	go func() { ended <- fanout.Run(running) }()
	go func() { ended <- w.Run(running) }()
	if err := <-waiting; err != nil {
		t.Error("no checkpoint: ", err)
	}
	if position, covered := positionOf(t, s, r.Shard, r.Seq); position != 1 || !covered {
		t.Errorf("position %d, covered: %t", position, covered)
	}
	mustAdd(t, s, newKey(), added{})
	if err := s.Checkpoints().Await(ctx, 1); err != nil {
		t.Error("no second checkpoint: ", err)
	}
	if next, err := s.Checkpoints().Last(ctx); err != nil || next.Number != 2 || next.Size != 2 {
		t.Errorf("checkpoint %d covers %d events: %v", next.Number, next.Size, err)
	}
	stop()
	for range cap(ended) {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// TestCheckpointOfSickLog: events that were acknowledged before the log became unhealthy still get
// their positions, so that a back-up can end at a checkpoint.
func TestCheckpointOfSickLog(t *testing.T) {
	t.Parallel()
	config := eventstoretest.Config(eventstoretest.Server(t, t.TempDir()))
	s := eventstoretest.OpenOn(t, config)
	eventstoretest.Secrets(t, s) // before appends are refused
	r := mustAdd(t, s, newKey(), added{}).Recorded
	s.Sicken(errors.New("a test"))
	if _, err := add(t, s, newKey(), added{}); !errors.Is(err, eventstore.ErrUnhealthy) {
		t.Errorf("an event of an unhealthy log: %v", err)
	}
	w := startCheckpointer(t, s)
	w.covers(t, 1)
	w.stop(t)
	if position, covered := positionOf(t, s, r.Shard, r.Seq); position != 1 || !covered {
		t.Errorf("position %d, covered: %t", position, covered)
	}
	if cut, err := s.Cut(testContext(t)); err != nil || cut.Events != 1 {
		t.Errorf("a back-up would have %d events: %v", cut.Events, err)
	}
}

// TestDamagedCheckpoints: if the shard of the checkpoints is damaged, those who wait for the next
// one learn it, known positions stay, and payments go on, also after a check of the whole log.
func TestDamagedCheckpoints(t *testing.T) {
	t.Parallel()
	for _, sole := range []bool{true, false} {
		t.Run(fmt.Sprintf("sole writer %t", sole), func(t *testing.T) {
			t.Parallel()
			ctx := testContext(t)
			config := eventstoretest.Config(eventstoretest.Server(t, t.TempDir()))
			if !sole {
				config = eventstoretest.Cluster(t)
			}
			s := eventstoretest.OpenOn(t, config)
			w := startCheckpointer(t, s)
			r := mustAdd(t, s, newKey(), added{}).Recorded
			newest := w.coversNow(t, s)
			waiting := make(chan error, 1)
			go func() { waiting <- s.Checkpoints().Await(ctx, newest.Number+1) }()
			mustAdd(t, s, newKey(), added{})
			newest = w.coversNow(t, s) // the waiter waits on
			if err := s.DamageCheckpoints(errors.New("a test")); !errors.Is(err, eventstore.ErrUnhealthy) {
				t.Error(err)
			}
			for range 2 {
				if err := <-waiting; !errors.Is(err, eventstore.ErrUnhealthy) {
					t.Errorf("the next checkpoint: %v", err)
				}
				waiting <- s.Checkpoints().Await(ctx, newest.Number)
			}
			s.Recheck(ctx)
			if position, covered := positionOf(t, s, r.Shard, r.Seq); position != 1 || !covered {
				t.Errorf("position %d, covered: %t", position, covered)
			}
			if last, err := s.Checkpoints().Last(ctx); err != nil || last.Number != newest.Number {
				t.Errorf("the newest one is %d, not %d: %v", last.Number, newest.Number, err)
			}
			mustAdd(t, s, newKey(), added{})
			w.end()
			for range cap(w.ended) {
				if err := <-w.ended; err != nil && !errors.Is(err, eventstore.ErrUnhealthy) {
					t.Error(err)
				}
			}
		})
	}
}
