package eventjson_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/checkpointlog"
	"payledger/eventstore/eventstoretest"
	"payledger/projections/eventjson"
)

// TestFollowPasses: a reader of whose events a long log has none gets positions before the end of
// the log, so that it goes on there after a break.
func TestFollowPasses(t *testing.T) {
	t.Parallel()
	store := eventstoretest.Open(t, t.TempDir())
	signer, _, err := eventstoretest.Secrets(t, store).CheckpointSigner(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fanout := eventstore.NewFanout(store)
	c, err := checkpointlog.NewWriter(t.Context(), store.Checkpoints(), fanout.Reader, signer)
	if err != nil {
		t.Fatal(err)
	}
	c.Every = time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = fanout.Run(ctx) })
	running.Go(func() { _ = c.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	others := domain.NewAccountID([16]byte{7})
	for store.Events() <= 2*eventjson.PassedEvery {
		if _, err := eventstoretest.Generate(t.Context(), store, others, 50, 8); err != nil {
			t.Fatal(err)
		}
	}
	f, size := eventjson.NewFeed(store), store.Events()
	if err := f.Log.Await(t.Context(), size-1); err != nil {
		t.Fatal(err)
	}
	enough := errors.New("enough")
	var positions []uint64
	err = f.Follow(t.Context(), eventjson.Filter{Account: domain.NewAccountID([16]byte{8})}, 0, func(e eventjson.Event) error {
		t.Errorf("another account's event at %d", e.Position)
		return nil
	}, func(position uint64) error {
		if positions = append(positions, position); position == size {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) || len(positions) != int(size/eventjson.PassedEvery)+1 || positions[0] != eventjson.PassedEvery {
		t.Errorf("positions %v of a log of %d events, %v", positions, size, err)
	}
}
