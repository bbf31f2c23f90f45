package backup_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"payledger/eventstore/backup"
	"payledger/eventstore/backup/restore"
	"payledger/eventstore/eventstoretest"
)

// delivered appends finished records of deliveries.
func (r *rig) delivered(t testing.TB, name string, n int) {
	t.Helper()
	for i := range n {
		if _, err := r.store.Deliveries().Put(context.Background(), fmt.Sprintf("account.delivery.endpoint.%s%d.kind", name, i), 0, []byte(name), false); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDroppedAfterItsEnd: a back-up ends at the closing group of a segment of deliveries, and the
// segment is dropped before the next run. That run continues with the group that names the closing
// one.
func TestDroppedAfterItsEnd(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t)
	if _, err := eventstoretest.Generate(ctx, r.store, "account", 5, 1); err != nil {
		t.Fatal(err)
	}
	r.delivered(t, "a", 3)
	d := r.store.Deliveries()
	_, closed, err := d.Segments(ctx)
	if err != nil {
		t.Fatal(err)
	}
	d.CloseSegment(closed.Number)
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for open, end := closed, time.Now().Add(time.Minute); open.Number == closed.Number; <-again.C {
		if _, open, err = d.Segments(ctx); err != nil || time.Now().After(end) {
			t.Fatal("the segment is open: ", err)
		}
	}
	r.backup(t)
	if _, err := d.Drop(ctx, closed.Number, time.Now(), make([]uint64, 3)); err != nil {
		t.Fatal(err)
	}
	if err := d.Sweep(ctx); err != nil {
		t.Fatal(err)
	}
	r.delivered(t, "b", 1)
	r.backup(t)
	r.halt(t)
	r.backup(t)
	r.restored(t)
}

// TestContinuedWithMessages: a run is cut short after the file of a stream without messages, and
// the stream has messages when the next run continues.
func TestContinuedWithMessages(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t)
	if _, err := eventstoretest.Generate(ctx, r.store, "account", 5, 1); err != nil {
		t.Fatal(err)
	}
	c, cut := r.config(r.source(t)), false
	c.Stepped(func(step string) error {
		if cut = cut || step == "file 000001-DELIVERIES_1-1.messages"; cut {
			return errKilled
		}
		return nil
	})
	if _, err := backup.Run(ctx, c); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	r.delivered(t, "a", 3)
	r.backup(t)
	if _, err := restore.Open(r.out, r.keys); err != nil {
		t.Fatal(err)
	}
	r.delivered(t, "b", 3)
	r.backup(t)
	r.halt(t)
	r.backup(t)
	r.restored(t)
}
