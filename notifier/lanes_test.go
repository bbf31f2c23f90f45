package notifier

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
)

// TestLanesEnd checks that a lane that is made after the end of all lanes starts no goroutine that
// would stay.
func TestLanesEnd(t *testing.T) {
	t.Parallel()
	ls := newLanes(sharedOf(newMemory(), limits{}))
	ctx, cancel := context.WithCancel(context.Background())
	ls.run(ctx, nil)
	ls.of("acct1.end1").scanFrom(1)
	cancel()
	ls.wait()
	l := ls.of("acct1.end2")
	if l.scanFrom(1); l.running {
		t.Error("a lane still starts")
	}
}

// TestLanesRest checks that a lane without deliveries has no goroutine, and sends again when it
// gets one: otherwise each endpoint that was deleted would keep a goroutine for ever.
func TestLanesRest(t *testing.T) {
	t.Parallel()
	const endpoints, each = 200, 3
	ls := newLanes(sharedOf(newMemory(), limits{laneQueue, laneWaiting, lanePage}))
	var sent atomic.Int64
	ls.run(t.Context(), func(_ context.Context, l *lane, e entry, _ func()) {
		sent.Add(1)
		l.leave(e.at)
	})
	defer ls.workers.Close()
	for round := range each {
		for i := range endpoints {
			ls.of(fmt.Sprint("acct1.end", i)).offer(plannedDelivery{at: uint64(round*endpoints + i + 1), Delivery: goldenDelivery})
		}
		ls.runs.running.Wait() // no lane runs any more
		if n := sent.Load(); n != int64((round+1)*endpoints) {
			t.Fatalf("%d deliveries were sent after round %d of %d endpoints", n, round, endpoints)
		}
	}
}
