//go:build system

package engine_test

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

// TestSegmentWithoutAServer: one of three servers is gone, and the two others were started again
// meanwhile, so that they make no stream with three replicas. A segment that is to be closed stays
// open, and takes records. When the third server is there, it is closed.
func TestSegmentWithoutAServer(t *testing.T) {
	r := cluster(t, 1)
	for _, n := range r.nodes {
		if err := n.store.Close(); err != nil {
			t.Fatal(err)
		}
		n.stop()
	}
	r.start(t, 0)
	r.start(t, 1)
	r.open(t, 0)
	ctx, d := testContext(t), r.store().Deliveries()
	put := func(n int) error {
		_, err := d.Put(ctx, fmt.Sprintf("account.delivery.endpoint.%d.kind", n), 0, []byte("body"), false)
		return err
	}
	eventually(t, time.Minute, "a record is stored", func() error { return put(0) })
	_, closed, err := d.Segments(ctx)
	if err != nil {
		t.Fatal(err)
	}
	d.CloseSegment(closed.Number)
	for n := range 20 {
		eventually(t, time.Minute, "the segment takes a record", func() error { return put(n + 1) })
	}
	if _, open, err := d.Segments(ctx); err != nil || open.Number != closed.Number {
		t.Fatalf("segment %d, %v", open.Number, err)
	}
	r.start(t, 2)
	eventually(t, 2*time.Minute, "the segment is closed", func() error {
		_, open, err := d.Segments(ctx)
		if err == nil && open.Number == closed.Number {
			err = errors.New("it is open")
		}
		return err
	})
	if err := put(100); err != nil {
		t.Error(err)
	}
}
