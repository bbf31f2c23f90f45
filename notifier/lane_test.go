package notifier

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/due"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/format"
	"payledger/eventstore/workers"
	"payledger/notifier/delivery"
	"payledger/notifier/health"
)

// laneRig is a lane on a real stream. Its deliveries end when the test lets them.
type laneRig struct {
	t      *testing.T
	lane   *lane
	stream stream
	hold   chan struct{}        // holds every delivery
	slow   chan struct{}        // holds the one of event "last" besides
	done   chan delivery.Status // of each attempt
	newest plannedDelivery

	retries delivery.Schedule
	outcome func(delivery.Delivery) delivery.Attempt

	mu      sync.Mutex
	sent    map[string]int
	flights int
}

func (r *laneRig) deliver(_ context.Context, l *lane, e entry, free func()) {
	d, last := r.look(e)
	if last != e.at {
		l.moved(e.at, last, d)
		return
	}
	r.mu.Lock()
	r.sent[d.Name()]++
	if r.flights++; r.flights > AttemptsAtOnce {
		r.t.Errorf("%d in flight", r.flights)
	}
	r.mu.Unlock()
	<-r.hold
	if d.EventID == "last" {
		<-r.slow
	}
	after := d.WithAttempt(r.outcome(d), r.retries)
	body, err := after.Encode()
	if err != nil {
		r.t.Error(err)
	}
	r.mu.Lock()
	r.flights--
	r.mu.Unlock()
	free()
	place, err := r.stream.Put(context.Background(), d.Name(), e.at, body, after.Status.Open())
	if err != nil {
		r.t.Error(err)
	}
	l.moved(e.at, place, after)
	r.done <- after.Status
}

// look reads the newest record of an entry's delivery.
func (r *laneRig) look(e entry) (delivery.Delivery, uint64) {
	name := ""
	if e.record != nil {
		name = e.record.Name()
	} else if stored, err := r.stream.At(context.Background(), e.at); err != nil {
		r.t.Errorf("nothing at %d: %v", e.at, err)
	} else {
		name = stored.Name
	}
	stored, err := r.stream.Last(context.Background(), name)
	if err != nil {
		r.t.Error(err)
	}
	d, err := delivery.Decode(stored)
	if err != nil {
		r.t.Error(err)
	}
	return d, stored.Seq
}

// offer plans a delivery and adds it to the lane.
func (r *laneRig) offer(eventID string) uint64 {
	r.t.Helper()
	d := goldenDelivery
	d.EventID = eventID
	body, err := d.Encode()
	if err != nil {
		r.t.Fatal(err)
	}
	at, err := r.stream.Put(context.Background(), d.Name(), 0, body, true)
	if err != nil {
		r.t.Fatal(err)
	}
	r.newest = plannedDelivery{Delivery: d, at: at}
	r.lane.offer(r.newest)
	return at
}

// sharedOf returns what lanes over a stream share.
func sharedOf(s stream, l limits) shared {
	return shared{stream: s, health: &health.Health{}, log: zerolog.Nop(), now: time.Now, limits: l}
}

func newLaneRig(t *testing.T, s stream, n int) *laneRig {
	l := newLane("acct1."+string(goldenDelivery.Endpoint), sharedOf(s, limits{queue: 4, waiting: 4, page: 20}))
	return &laneRig{
		t: t, lane: l, stream: s, hold: make(chan struct{}), slow: make(chan struct{}), done: make(chan delivery.Status, n), sent: map[string]int{},
		outcome: func(delivery.Delivery) delivery.Attempt {
			return delivery.Attempt{StartedAt: time.Now(), StatusCode: 200}
		},
	}
}

// first returns the lowest place among the lane's open deliveries; false if there is none.
func (l *lane) first() (place uint64, open bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for at := range l.known {
		if !open || at < place {
			place, open = at, true
		}
	}
	if l.overflow.open && (!open || l.overflow.first < place) {
		place, open = l.overflow.first, true
	}
	return place, open
}

// TestLane checks that an overflowing queue loses nothing and sends nothing twice, even if
// deliveries are offered again. The number of attempts under way is bounded.
func TestLane(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	const n = 300
	r := newLaneRig(t, eventstoretest.Open(t, t.TempDir()).Deliveries(), n+2)
	l := r.lane
	var running sync.WaitGroup
	w := workers.New()
	defer w.Close()
	running.Go(func() { l.run(ctx, w, r.deliver) })
	first := r.offer("first")
	for i := range n - 2 {
		r.offer(fmt.Sprintf("event-%d", i))
	}
	last := r.offer("last")
	if at, open := l.first(); !open || at != first {
		t.Errorf("the first open delivery is at %d %v, expected %d", at, open, first)
	}
	close(r.hold)
	for i := range n - 1 {
		<-r.done
		if i%50 == 0 {
			l.scanFrom(first)
		}
	}
	l.scanFrom(first) // finds outcomes, and one delivery that is in flight
	for at := first; at != last; {
		at, _ = l.first()
	}
	close(r.slow)
	<-r.done
	for open := true; open; {
		_, open = l.first()
	}
	l.offer(r.newest) // it was read back and sent before its planner came to offer it
	r.offer("one-more")
	<-r.done
	cancel()
	running.Wait()
	if len(r.sent) != n+1 {
		t.Errorf("%d of %d were sent", len(r.sent), n+1)
	}
	for name, times := range r.sent {
		if times != 1 {
			t.Errorf("%s was sent %d times", name, times)
		}
	}
}

// pauseFor lets a bubble's time pass.
func pauseFor(d time.Duration) { <-time.After(d) }

// TestBackoff: our own trouble is tried again after waits that double up to a minute.
func TestBackoff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		for n := range 12 {
			if err := due.Rest(t.Context(), health.Backoff(n), nil); err != nil {
				t.Fatal(err)
			}
		}
		if waited := time.Since(start); waited != 222300*time.Millisecond {
			t.Errorf("twelve waits took %s", waited)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if due.Rest(ended, time.Hour, nil) == nil {
			t.Error("the wait went on after its context")
		}
	})
}

// teleported is an event that this build does not know.
type teleported struct{}

func (teleported) Type() string { return "payment.teleported" }

// TestPoison checks that an unknown event stops the planner at its place. Earlier plans are sent,
// and nothing after the event is planned, before and after a restart.
func TestPoison(t *testing.T) {
	t.Parallel()
	inbox := newReceiver(t, nil)
	r := newRig(t)
	r.start()
	r.endpoint(inbox.url)
	r.pay(processor.Succeeded)
	inbox.waitFor(1)
	strange := format.NewAggregate("payment", 1, []teleported{{}}, func(s int, _ teleported) int { return s + 1 })
	key := strange.Key(merchantID, "01strange")
	execute(r, strange, key, func(eventstore.Meta, int) (teleported, error) { return teleported{}, nil })
	for range 2 {
		err := <-r.ended
		if err == nil || r.notifier.Healthy() == nil {
			t.Fatal("the planner went on")
		}
		r.ended <- nil
		for _, part := range []string{"acct1.payment.01strange revision 1", "payment.teleported", fmt.Sprintf("shard %d sequence ", domain.Shard("01strange", 2))} {
			if !contains(err, part) || !contains(r.notifier.Healthy(), part) {
				t.Errorf("%v does not name %q", err, part)
			}
		}
		r.stop()
		r.start()
	}
	r.stop()
	inbox.none()
}

func contains(err error, part string) bool { return strings.Contains(err.Error(), part) }

// TestLaneMemory: a dead endpoint's waiting deliveries take a bounded part of memory, however many
// they are.
func TestLaneMemory(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	l := newLane("acct1.end1", sharedOf(newMemory(), limits{laneQueue, laneWaiting, lanePage}))
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for at := range uint64(100_000) {
		l.moved(0, at+1, delivery.Delivery{Status: delivery.Failed, NextAt: goldenTime.Add(time.Duration(at) * time.Millisecond)})
	}
	after := heap()
	if len(l.waiting) != laneWaiting || !l.overflow.open || l.overflow.first != laneWaiting+1 {
		t.Errorf("%d in memory, in the stream only: %+v", len(l.waiting), l.overflow)
	}
	if grown := int64(after - before); grown > 4<<20 {
		t.Errorf("%d bytes", grown)
	} else {
		t.Logf("%d bytes", grown)
	}
}

// TestLaneAlternates: due retries and first attempts take turns, so that neither waits for all of
// the other.
func TestLaneAlternates(t *testing.T) {
	t.Parallel()
	l := newLane("acct1.end1", sharedOf(newMemory(), limits{laneQueue, laneWaiting, lanePage}))
	for at := range uint64(4) {
		l.offer(plannedDelivery{at: 10 + at})
		l.moved(0, 20+at, delivery.Delivery{Status: delivery.Failed, NextAt: goldenTime.Add(time.Duration(at) * time.Second)})
	}
	l.moved(0, 30, delivery.Delivery{Status: delivery.Failed, NextAt: time.Now().Add(time.Hour)})
	var order []uint64
	for {
		picked := l.pick()
		if !picked.found {
			if wait := time.Until(picked.wakeAt); wait < 59*time.Minute {
				t.Errorf("looks again in %s", wait)
			}
			break
		}
		order = append(order, picked.entry.at)
	}
	if want := []uint64{20, 10, 21, 11, 22, 12, 23, 13}; !slices.Equal(order, want) {
		t.Errorf("taken as %d, want %d", order, want)
	}
}

// TestLaneInOrder checks that later plans do not overtake first attempts that did not fit into
// memory, so that no attempt waits for ever while an endpoint's queue is never empty.
func TestLaneInOrder(t *testing.T) {
	t.Parallel()
	b := newBubble(t)
	l := newLane(goldenDelivery.Lane(), sharedOf(b.stream, limits{queue: 2, waiting: 4, page: 2}))
	var taken []uint64
	for n := range 40 {
		l.offer(b.put(fmt.Sprintf("00000000-0000-4000-8000-%012d", n), goldenDelivery.Endpoint))
		if n%2 == 0 {
			continue
		}
		e, ok := l.next(t.Context())
		if !ok {
			t.Fatal("nothing is due")
		}
		taken = append(taken, e.at)
	}
	for i, at := range taken {
		if at != uint64(i)+1 {
			t.Fatalf("taken in the order %d", taken)
		}
	}
}
