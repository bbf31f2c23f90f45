package notifier

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/eventstoretest"
)

// TestLane: a queue that overflows loses nothing and sends nothing twice, whatever is pointed out again
// meanwhile; flights are bounded.
func TestLane(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	store := eventstoretest.Open(t, t.TempDir())
	s, err := store.OpenDeliveries(ctx)
	if err != nil {
		t.Fatal(err)
	}
	const n = 3 * lanePage
	l := newLane("acct1."+string(goldenDelivery.Endpoint), s, &health{}, zerolog.Nop())
	l.limit = 4
	var (
		mu      sync.Mutex
		sent    = map[uint64]int{}
		flights int
		done    = make(chan struct{}, n+2)
		hold    = make(chan struct{})
		slow    = make(chan struct{}) // holds the last delivery
		running sync.WaitGroup
	)
	running.Go(func() {
		l.run(ctx, func(_ context.Context, d placed) bool {
			mu.Lock()
			sent[d.at]++
			if flights++; flights > laneFlights {
				t.Errorf("%d in flight", flights)
			}
			mu.Unlock()
			<-hold
			if d.EventID == "last" {
				<-slow
			}
			ended := d.ended(Attempt{StatusCode: 200})
			body, err := ended.encode()
			if err == nil {
				_, err = s.Put(context.Background(), d.Name(), d.at, body)
			}
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			flights--
			mu.Unlock()
			done <- struct{}{}
			return true
		})
	})
	var newest placed
	offer := func(eventID string) uint64 {
		d := goldenDelivery
		d.EventID = eventID
		body, err := d.encode()
		if err != nil {
			t.Fatal(err)
		}
		at, err := s.Put(ctx, d.Name(), 0, body)
		if err != nil {
			t.Fatal(err)
		}
		newest = placed{Delivery: d, at: at}
		l.offer(newest)
		return at
	}
	first := offer("first")
	for i := range n - 2 {
		offer(fmt.Sprintf("event-%d", i))
	}
	last := offer("last")
	if at, open := l.first(); !open || at != first {
		t.Errorf("the first open delivery is at %d %v, expected %d", at, open, first)
	}
	close(hold)
	for i := range n - 1 {
		<-done
		if i%50 == 0 {
			l.lookFrom(first)
		}
	}
	l.lookFrom(first) // finds outcomes, and one delivery that is in flight
	for at := first; at != last; {
		at, _ = l.first()
	}
	close(slow)
	<-done
	for open := true; open; {
		_, open = l.first()
	}
	l.offer(newest) // it was read back and sent before its planner came to offer it
	offer("one more")
	<-done
	cancel()
	running.Wait()
	if len(sent) != n+1 {
		t.Errorf("%d of %d were sent", len(sent), n)
	}
	for at, times := range sent {
		if times != 1 {
			t.Errorf("the delivery at %d was sent %d times", at, times)
		}
	}
}

// saves counts writes of the position.
type saves struct {
	stream
	n int
}

func (s *saves) Replace(context.Context, string, []byte) error { s.n++; return nil }

// TestPositionEvery: the position is written at most every 250 ms while events flow, and not at all while
// nothing changes.
func TestPositionEvery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s, h := &saves{}, &health{}
		k := &keeper{stream: s, progress: &progress{log: make([]uint64, 1)}, lanes: newLanes(s, h, zerolog.Nop()), health: h}
		var running sync.WaitGroup
		running.Go(func() { k.run(ctx) })
		for seq := range uint64(200) { // two seconds of events
			k.progress.advance([]*eventstore.Recorded{{Seq: seq + 1}}, 0)
			pauseFor(10 * time.Millisecond)
		}
		pauseFor(positionEvery)
		synctest.Wait()
		if s.n != 8 {
			t.Errorf("written %d times in 2 s", s.n)
		}
		pauseFor(time.Hour)
		synctest.Wait()
		if s.n != 8 {
			t.Errorf("written %d times although nothing changed", s.n)
		}
		cancel()
		running.Wait()
	})
}

// pauseFor lets a bubble's time pass.
func pauseFor(d time.Duration) { <-time.After(d) }

// TestBackoff: our own trouble is tried again after waits that double up to a minute.
func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		for n := range 12 {
			if !pause(t.Context(), backoff(n)) {
				t.Fatal("ended early")
			}
		}
		if waited := time.Since(start); waited != 222300*time.Millisecond {
			t.Errorf("twelve waits took %s", waited)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if pause(ended, time.Hour) {
			t.Error("the wait went on after its context")
		}
	})
}

// teleported is an event that this build does not know.
type teleported struct{}

func (teleported) Type() string { return "payment.teleported" }

// TestPoison: an unknown event stops the planner with its place; what was planned before is sent, nothing
// after it is planned, before and after a restart (DESIGN 12).
func TestPoison(t *testing.T) {
	inbox := newReceiver(t, nil)
	r := newRig(t)
	r.start()
	r.endpoint(inbox.url)
	r.pay(processor.Succeeded)
	inbox.take(1)
	strange := eventstore.NewAggregate("payment", 1, []teleported{{}}, func(s int, _ teleported) int { return s + 1 })
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
