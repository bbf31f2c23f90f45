package backup_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"payledger/domain"
	"payledger/eventstore/archive"
	"payledger/eventstore/checkpoint"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/format"
	"payledger/eventstore/streams"
)

// order returns the positions of the events of a stopped log that checkpoints cover, by the hash of
// the event, and the number of all events.
func order(t testing.TB, dir string) (positions map[format.Hash]uint64, events int) {
	t.Helper()
	ctx := context.Background()
	files, err := archive.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	damaged := func(stream string, seq uint64, reason string) error {
		return errors.New(stream + ": " + reason)
	}
	leaves := make([][]format.Hash, files.Shards)
	for shard := range leaves {
		err := files.Groups(ctx, shard, damaged, func(_ string, g *format.Group) error {
			for _, r := range g.Frames {
				leaves[shard] = append(leaves[shard], r.Hash)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		events += len(leaves[shard])
	}
	positions = map[format.Hash]uint64{}
	var before checkpoint.Checkpoint
	err = files.Groups(ctx, streams.CheckpointShard, damaged, func(_ string, g *format.Group) error {
		for _, r := range g.Frames {
			c, err := checkpoint.Of(r)
			if err != nil {
				return err
			}
			for shard := range leaves {
				for _, h := range leaves[shard][before.EventsOf(shard):c.EventsOf(shard)] {
					positions[h] = uint64(len(positions)) + 1
				}
			}
			before = c
		}
		return nil
	})
	if err = errors.Join(err, files.Close()); err != nil {
		t.Fatal(err)
	}
	return positions, events
}

// same checks that every event of a restored log has the position that the log gave it (D22.10).
func same(t testing.TB, published, restored map[format.Hash]uint64, events int) {
	t.Helper()
	moved := 0
	for h, position := range restored {
		if was := published[h]; was != position {
			moved++
		}
	}
	if moved > 0 || len(restored) != events || events == 0 {
		t.Errorf("%d of %d events that have a position in the restored log got another one; it has %d events", moved, len(restored), events)
	}
}

// TestPositionsRestored: a back-up of a running log under load ends at a checkpoint, so that no
// event of the restored log has another position than in the log, which gave the positions after
// the moment of the back-up (D22.10).
func TestPositionsRestored(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.every = time.Second // most events of the moment have no checkpoint yet
	r.halt(t)
	r.start(t)
	ctx, stop := context.WithCancel(context.Background())
	var load sync.WaitGroup
	filling := make(chan struct{})
	load.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			if _, err := eventstoretest.Generate(ctx, r.store, domain.AccountID("account"), 3, 8); err != nil && ctx.Err() == nil {
				t.Error(err)
				return
			}
			if i == 2 {
				close(filling)
			}
		}
	})
	<-filling
	first := r.backup(t)
	dir, b := r.restored(t)
	stop()
	load.Wait()
	r.halt(t)
	published, _ := order(t, r.dir)
	restored, events := order(t, dir)
	same(t, published, restored, events)
	if b.Events != first.Events || uint64(events) != first.Events {
		t.Errorf("%d events, the run has %d", events, first.Events)
	}
}

// TestPositionsOfStopped: the events that a killed service left without a checkpoint get the same
// positions at the next start, and in a log that is restored from the stopped folder (D22.10).
func TestPositionsOfStopped(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fill(t, "a", 3)
	r.backup(t) // all have a checkpoint
	r.stop()    // the writer: the service was killed before it covered the next events
	r.stop = func() {}
	r.fill(t, "b", 10)
	r.halt(t)
	if covered, events := order(t, r.dir); len(covered) == events {
		t.Fatal("every event has a checkpoint already")
	}
	r.backup(t)
	r.start(t)
	r.fill(t, "c", 10) // at once, before the writer has read the events from before
	if _, err := r.store.Cut(context.Background()); err != nil {
		t.Fatal(err)
	}
	r.halt(t)
	published, _ := order(t, r.dir)
	dir := restoredQuietly(t, r)
	restored, events := order(t, dir)
	same(t, published, restored, events)
}

// restoredQuietly restores the back-up, and starts the log until a checkpoint covers all its
// events.
func restoredQuietly(t testing.TB, r *rig) string {
	t.Helper()
	dir, _ := r.restored(t)
	other := &rig{dir: dir}
	other.start(t)
	defer other.halt(t)
	if _, err := other.store.Cut(context.Background()); err != nil {
		t.Fatal(err)
	}
	return dir
}
