package engine_test

import (
	"context"
	"testing"
	"time"

	"payledger/eventstore"
	"payledger/eventstore/checkpoint"
	"payledger/eventstore/checkpointlog"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/format"
)

// TestLostAnswerToCheckpoint: a checkpoint of the sole writer is stored, its answer is lost, and no
// event follows. A reader that waits for it gets it, and its event has a position.
func TestLostAnswerToCheckpoint(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	config := eventstoretest.Config(eventstoretest.Server(t, t.TempDir()))
	config.SoleWriter = true
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
	putCheckpoint(t, s, c, true) // the log does not know of it
	waiting := make(chan error, 1)
	go func() { waiting <- s.Checkpoints().Await(ctx, 0) }()
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
	stop()
	for range cap(ended) {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
