package checkpointlog_test

import (
	"testing"
	"time"

	"payledger/domain"
	"payledger/eventstore/checkpointlog"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/format"
	"payledger/eventstore/ordered"
)

// TestLeavesOfALargeCheckpoint: after a time without checkpoints one covers many events. It is read
// alone, because the hashes of a batch of several are in memory, and the leaves are in their order.
func TestLeavesOfALargeCheckpoint(t *testing.T) {
	t.Parallel()
	s := open(t, 2)
	checkpoints(t, s, time.Hour)
	appendTo(t, s)
	if err := s.Checkpoints().Await(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	const events = checkpointlog.LeavesAtOnce + eventstoretest.LifeEvents
	if _, err := eventstoretest.Generate(t.Context(), s, domain.AccountID("acct"), events/eventstoretest.LifeEvents, 256); err != nil {
		t.Fatal(err)
	}
	for size := uint64(1 + events); size < 5+events; size++ {
		awaitSize(t, s, size)
		appendTo(t, s)
	}
	order, err := s.Checkpoints().Order(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	batches, err := order.Batches(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	before, large := uint64(0), 0
	for _, path := range batches {
		end := path[len(path)-1].Size
		if end-before > checkpointlog.LeavesAtOnce {
			if large++; len(path) != 1 {
				t.Errorf("a batch of %d checkpoints covers %d events", len(path), end-before)
			}
		}
		before = end
	}
	if large == 0 {
		t.Errorf("none of %d batches is large", len(batches))
	}
	var leaves []format.Hash
	keep := func(h format.Hash) error { leaves = append(leaves, h); return nil }
	if err := order.Leaves(t.Context(), 0, order.Size(), keep); err != nil {
		t.Fatal(err)
	}
	all := collect(t, ordered.New(s), 0)
	if len(leaves) == 0 || len(all) < len(leaves) {
		t.Fatalf("%d leaves of %d events", len(leaves), len(all))
	}
	for i, e := range all[:len(leaves)] {
		if e.Hash != leaves[i] {
			t.Fatalf("leaf %d is of another event", i)
		}
	}
}
