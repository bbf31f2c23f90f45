package notifier

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"payledger/domain"
	"payledger/domain/seedtest"
	"payledger/eventstore/eventstoretest"
	"payledger/notifier/delivery"
	"payledger/notifier/message"
)

// onTime fails unless the gaps between calls are the delays of D18, each within its jitter and
// late; before is how many attempts were made before those.
func onTime(t *testing.T, name string, calls []time.Time, before int, late time.Duration) {
	t.Helper()
	for i := range len(calls) - 1 {
		gap, nominal := calls[i+1].Sub(calls[i]), delivery.DefaultRetryDelays()[before+i]
		if gap < nominal*9/10 || gap > nominal*11/10+late {
			t.Errorf("%s: attempt %d came %s after the one before, want %s ± 10 %%", name, before+i+2, gap, nominal)
		}
	}
}

// TestSchedule checks that six attempts are made at the delays of D18, each within 10 %, none after
// them, and none after a success. The delays differ.
func TestSchedule(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t)
		b.answer = func(n int, w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/"+goldenDelivery.Name() && n == 3 {
				return // 200
			}
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte("try\r\nlater\x00"))
		}
		b.start()
		lost := b.plan(goldenDelivery.EventID, goldenDelivery.Endpoint)
		won := b.plan("00000000-0000-4000-8000-000000000001", goldenDelivery.Endpoint)
		pauseFor(35 * time.Minute)
		pauseFor(24 * time.Hour)
		b.stop()
		calls := b.callsTo(lost)
		if len(calls) != 6 || len(b.callsTo(won)) != 3 {
			t.Fatalf("%d and %d attempts", len(calls), len(b.callsTo(won)))
		}
		onTime(t, "lost", calls, 0, 0)
		onTime(t, "won", b.callsTo(won), 0, 0)
		if other := b.callsTo(won); calls[1].Sub(calls[0]) == other[1].Sub(other[0]) && calls[2].Sub(calls[1]) == other[2].Sub(other[1]) {
			t.Error("no jitter")
		}
		records := b.stream.decoded(t)
		if d := records[lost]; d.Status != delivery.Exhausted || len(d.Attempts) != 6 || !d.NextAt.IsZero() || d.Attempts[5].Number != 6 ||
			d.Attempts[5].Excerpt != "try  later" || d.Attempts[0].Keys[0] != "secret-1" {
			t.Errorf("%+v", d)
		}
		if d := records[won]; d.Status != delivery.Succeeded || len(d.Attempts) != 3 {
			t.Errorf("%+v", d)
		}
	})
}

// TestScheduleRestart checks that due times are in the records: an attempt that was due while the
// process was down is made at the start, a later one at its time.
func TestScheduleRestart(t *testing.T) {
	t.Parallel()
	for _, down := range []time.Duration{0, 20 * time.Second, 3 * time.Minute, 24 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			b := newBubble(t)
			b.answer = status(500)
			b.start()
			name := b.plan(goldenDelivery.EventID, goldenDelivery.Endpoint)
			pauseFor(30 * time.Second) // two attempts
			b.stop()
			next := b.stream.decoded(t)[name].NextAt
			pauseFor(down)
			back := time.Now()
			b.start()
			pauseFor(31 * time.Minute * 11 / 10)
			b.stop()
			calls := b.callsTo(name)
			if len(calls) != 6 {
				t.Fatalf("down for %s: %d attempts", down, len(calls))
			}
			want := next
			if back.After(next) {
				want = back
			}
			if late := calls[2].Sub(want); late < -time.Microsecond || late > time.Microsecond {
				t.Errorf("down for %s: the third attempt came %s after %s", down, late, want)
			}
			onTime(t, fmt.Sprint(down), calls[2:], 2, 0)
		})
	}
}

// TestScheduleSetBack: a clock that was a day or more ahead when an attempt failed, and is set back
// then, changes nothing about when the others are made: not in the same process, not after a
// restart, and not for retries that did not fit into memory.
func TestScheduleSetBack(t *testing.T) {
	t.Parallel()
	for i, jump := range []time.Duration{time.Minute, 25 * time.Hour, 72 * time.Hour} {
		for _, restarts := range []bool{false, true} {
			if seedtest.Sampled() && restarts != (i == 1) { // each once
				continue
			}
			synctest.Test(t, func(t *testing.T) {
				b := newBubble(t)
				b.answer = status(500)
				b.limits = limits{queue: 8, waiting: 16, page: 8}
				b.start()
				b.set(jump)
				var all []string
				for i := range 40 {
					all = append(all, b.plan(fmt.Sprintf("00000000-0000-4000-8000-%012d", i), goldenDelivery.Endpoint))
				}
				pauseFor(5 * time.Second)
				late := 4 * laneReread // each of two retries waits for one rereading of the deliveries left in the stream
				if restarts {
					b.stop()
					b.set(0)
					b.start()
					late += 10 * time.Second // the wait begins anew
				}
				b.set(0)
				pauseFor(40 * time.Minute)
				b.stop()
				for _, name := range all {
					calls := b.callsTo(name)
					if len(calls) != 6 {
						t.Fatalf("set back by %s, restart %v: %s: %d attempts", jump, restarts, name, len(calls))
					}
					onTime(t, name, calls, 0, late)
				}
			})
		}
	}
}

// TestScheduleSpill: far more retries wait than fit into memory: each is made, six times, at its
// time or a moment after, and the lane's memory stays bounded.
func TestScheduleSpill(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t)
		b.answer = status(500)
		b.limits = limits{queue: 8, waiting: 16, page: 8}
		b.start()
		var all []string
		for i := range 250 { // more than the lane may have in memory
			all = append(all, b.plan(fmt.Sprintf("00000000-0000-4000-8000-%012d", i), goldenDelivery.Endpoint))
		}
		lane := b.lanes.of(goldenDelivery.Lane())
		for range 120 {
			pauseFor(30 * time.Second)
			synctest.Wait()
			lane.mu.Lock()
			if n := len(lane.known); n > 8+16+8+AttemptsAtOnce+laneUnrecorded {
				t.Errorf("%d deliveries in memory", n)
			}
			lane.mu.Unlock()
			place, open := lane.first()
			if first := b.stream.firstOpen(); first > 0 && (!open || place > first) {
				t.Errorf("an open delivery stands at %d, the lane tells %d %v", first, place, open)
			}
		}
		if place, open := lane.first(); open {
			t.Errorf("open at %d", place)
		}
		b.stop()
		for _, name := range all {
			if calls := b.callsTo(name); len(calls) != 6 {
				t.Fatalf("%s: %d attempts", name, len(calls))
			} else {
				onTime(t, name, calls, 0, laneReread+time.Second)
			}
		}
	})
}

// TestCancelled: deliveries of an endpoint that was deleted or disabled end as cancelled when they
// are due, without another attempt.
func TestCancelled(t *testing.T) {
	t.Parallel()
	for _, why := range []error{message.ErrNoEndpoint, message.ErrDisabled} {
		synctest.Test(t, func(t *testing.T) {
			b := newBubble(t)
			b.answer = status(500)
			b.start()
			name := b.plan(goldenDelivery.EventID, goldenDelivery.Endpoint)
			pauseFor(5 * time.Second)
			b.mu.Lock()
			b.endpoint = func(domain.EndpointID) error { return why }
			b.mu.Unlock()
			pauseFor(time.Hour)
			b.stop()
			if d := b.stream.decoded(t)[name]; d.Status != delivery.Cancelled || len(d.Attempts) != 1 || len(b.callsTo(name)) != 1 || !d.NextAt.IsZero() {
				t.Errorf("%v: %+v", why, d)
			}
		})
	}
}

// TestOfferLate checks that a delivery is not sent again if its lane found and sent it before its
// planner offers it, also while the attempt is under way.
func TestOfferLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t)
		b.answer = func(_ int, w http.ResponseWriter, _ *http.Request) {
			pauseFor(time.Second)
			w.WriteHeader(http.StatusNoContent)
		}
		b.start()
		sent := b.put(goldenDelivery.EventID, goldenDelivery.Endpoint)
		lane := b.lanes.of(sent.Lane())
		lane.scanFrom(sent.at)
		pauseFor(time.Minute)
		lane.offer(sent)
		flying := b.put("00000000-0000-4000-8000-000000000001", goldenDelivery.Endpoint)
		lane.scanFrom(flying.at)
		pauseFor(time.Second / 2)
		lane.offer(flying)
		pauseFor(time.Minute)
		b.stop()
		for _, d := range []plannedDelivery{sent, flying} {
			if n := len(b.callsTo(d.Name())); n != 1 {
				t.Errorf("%s came %d times", d.Name(), n)
			}
		}
	})
}

// TestUnrecorded: attempts go on while outcomes wait for the disk, up to a bound: so many are sent
// again after a crash.
func TestUnrecorded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t)
		b.answer = status(204)
		b.start()
		b.stream.set(false, true) // no outcome gets to the disk
		for i := range 400 {
			b.plan(fmt.Sprintf("00000000-0000-4000-8000-%012d", i), goldenDelivery.Endpoint)
		}
		pauseFor(time.Hour)
		if n := len(b.calls); n != AttemptsAtOnce+laneUnrecorded {
			t.Errorf("%d attempts without a recorded outcome", n)
		}
		b.stream.set(false, false)
		pauseFor(time.Hour)
		if n := len(b.calls); n != 400 {
			t.Errorf("%d attempts in all", n)
		}
		b.stop()
	})
}
