package payments

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/process"
	"payledger/domain/processor"
	"payledger/domain/seedtest"
	"payledger/eventstore"
	"payledger/eventstore/due"
)

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

func errandAt(name processor.Name, n int, next time.Time) *lookup {
	return &lookup{key: domain.OperationKey(fmt.Sprintf("%s.%d", name, n)), processor: name, next: next, state: payment.StatePending}
}

// TestSchedule checks, for random additions and removals, that every open errand is started once,
// not before its time, and not beside more errands to its processor than allowed.
func TestSchedule(t *testing.T) {
	seedtest.Check(t, func(t *rapid.T) {
		a, now := newSchedule(), noon
		stands, out := map[domain.OperationKey]time.Time{}, map[domain.OperationKey]bool{}
		var under []*lookup
		key := func() *lookup {
			name := rapid.SampledFrom(processor.Names[:2]).Draw(t, "name")
			return errandAt(name, rapid.IntRange(0, 30).Draw(t, "n"), now.Add(time.Duration(rapid.IntRange(0, 9).Draw(t, "in"))*time.Second))
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				e := key()
				if a.add(e); stands[e.key].IsZero() {
					stands[e.key] = e.next
				}
			},
			"drop": func(t *rapid.T) {
				e := key()
				a.drop(e.key)
				delete(stands, e.key)
				delete(out, e.key)
			},
			"hurry": func(t *rapid.T) {
				e := key()
				if a.hurry(e.key, now); !stands[e.key].IsZero() {
					stands[e.key] = now
				}
			},
			"turn": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(0, 5).Draw(t, "later")) * time.Second)
				ready, next := a.start(now)
				for _, e := range ready {
					if out[e.key] || stands[e.key].IsZero() || stands[e.key].After(now) {
						t.Fatalf("%s is handed out; due at %s", e.key, stands[e.key])
					}
					out[e.key] = true
				}
				under = append(under, ready...)
				if !next.IsZero() && !next.After(now) {
					t.Fatalf("%s is due at %s", next, now)
				}
			},
			"done": func(*rapid.T) {
				if len(under) > 0 {
					a.done(under[0])
					under = under[1:]
				}
			},
			"": func(t *rapid.T) {
				running, held := map[processor.Name]int{}, 0
				for _, e := range under {
					running[e.processor]++
				}
				for name, l := range a.queues {
					held += l.held
					if l.running > lookupsAtOnce || l.running != running[name] {
						t.Fatalf("%d are under way, %d started", l.running, running[name])
					}
				}
				if held != len(stands) || len(a.byKey) != len(stands) {
					t.Fatalf("%d held, %d known, %d stand", held, len(a.byKey), len(stands))
				}
			},
		})
		now = now.Add(time.Minute)
		var next time.Time
		for more := true; more; {
			for _, e := range under {
				a.done(e)
			}
			under, next = a.start(now)
			for _, e := range under {
				out[e.key] = true
			}
			more = len(under) > 0
		}
		if len(out) != len(stands) || !next.IsZero() {
			t.Fatalf("%d of %d were handed out; next %s", len(out), len(stands), next)
		}
	})
}

// TestScheduleRoom: no processor takes the others' room, and operations with the longest interval
// are in the views alone, except after a failure of the log.
func TestScheduleRoom(t *testing.T) {
	a := newSchedule()
	for n := range 2 * scheduleRoom {
		a.add(errandAt(processor.Adyen, n, noon))
	}
	a.add(errandAt(processor.Stripe, 1, noon))
	rare := errandAt(processor.Stripe, 2, noon)
	rare.asked = 12
	a.add(rare)
	if len(a.byKey) != scheduleRoom+1 || a.has(rare.key) || !a.has("STRIPE.1") {
		t.Errorf("%d errands", len(a.byKey))
	}
	failed := errandAt(processor.Stripe, 3, noon)
	failed.tries = tries{asked: 12, failures: 1}
	if a.add(failed); !a.has(failed.key) {
		t.Error("an operation that failed at the log is left to the views")
	}
	a.drop(failed.key)
	a.drop("ADYEN.0")
	a.add(errandAt(processor.Adyen, 2*scheduleRoom, noon))
	if len(a.byKey) != scheduleRoom+1 {
		t.Errorf("%d errands after one has left", len(a.byKey))
	}
}

// TestMoveToSchedule: a flight ends with the wait of its callers. A look-up that a caller joins
// goes on until the caller's deadline; a signal that comes while it ends is not lost.
func TestMoveToSchedule(t *testing.T) { synctest.Test(t, testMoveToSchedule) }

func testMoveToSchedule(t *testing.T) {
	tip := eventstore.Tip[payment.State]{State: payment.State{ID: "01p", Operations: []payment.Operation{
		{Revision: 1, State: payment.StateRequested, RequestedAt: noon, Target: payment.Target{Processor: processor.Adyen}},
	}}}
	fs := newInFlightOperations()
	fly := func(hasCallers bool) *operationInFlight {
		f, fresh := fs.join(newInFlight(tip, 1, due.In(noon, time.Minute), hasCallers))
		if !fresh {
			t.Fatal("flies already")
		}
		return f
	}
	lookup := fly(false)
	if !fs.moveToSchedule(lookup, noon, lookup.wait(false)) || fs.find("01p.1") != nil || !fs.scheduled.has("01p.1") {
		t.Fatal("a lookup for which nobody waits goes on")
	}
	if e, _ := fs.scheduled.find("01p.1"); !e.next.Equal(time.Now().Add(100*time.Millisecond)) || e.asked != 1 {
		t.Fatalf("%+v", e)
	}
	lookup = fly(false)
	if fs.scheduled.has("01p.1") {
		t.Fatal("in the schedule while it flies")
	}
	if fs.schedule(lookupOf(tip.State, 1)); fs.scheduled.has("01p.1") {
		t.Fatal("a lookup whose load failed is in the schedule while the operation flies")
	}
	fs.scheduled.add(lookupOf(tip.State, 1)) // as if it had been added before the operation flew
	if ready, _ := fs.scheduled.start(time.Now()); len(ready) != 1 {
		t.Fatal("not due")
	}
	if f, fresh := fs.join(newInFlight(tip, 1, due.In(noon, time.Minute), true)); fresh || f != lookup {
		t.Fatal("flies twice")
	}
	if fs.scheduled.has("01p.1") {
		t.Fatal("a due look-up that found the operation in flight stays in the schedule")
	}
	if fs.moveToSchedule(lookup, noon.Add(59*time.Second), time.Second) {
		t.Fatal("ended while a caller waits")
	}
	fs.lookUpNow("01p.1")
	if !fs.moveToSchedule(lookup, noon.Add(time.Minute), time.Second) {
		t.Fatal("goes on after the deadline")
	}
	if e, _ := fs.scheduled.find("01p.1"); !e.next.Equal(time.Now()) {
		t.Fatalf("the signal was lost: %+v", e)
	}
	answered := fly(true)
	answered.publish(tip.State, true)
	if !fs.moveToSchedule(answered, noon, time.Second) {
		t.Fatal("goes on although its callers were answered")
	}
}

// TestScheduleOfADamagedShard: a look-up is rare when its tries are as far apart as the views' own
// search: the schedule leaves it to them. A look-up that the log fails stays in the schedule, but
// not for ever: a damaged shard fails all its look-ups, and they would take the room of others.
func TestScheduleOfADamagedShard(t *testing.T) {
	asked := 0
	for process.NextInterval(asked) < process.LastInterval {
		asked++
	}
	for _, c := range []struct {
		asked, failures int
		kept            bool
	}{
		{0, 0, true}, {asked - 1, 0, true}, {asked, 0, false},
		{asked, 1, true}, {asked, mostFailures, true}, {asked, mostFailures + 1, false}, {0, mostFailures + 1, true},
	} {
		a, l := newSchedule(), errandAt(processor.Names[0], 1, noon)
		l.tries = tries{asked: c.asked, failures: c.failures}
		a.add(l)
		if start, _ := a.start(noon); (len(start) == 1) != c.kept {
			t.Errorf("after %d lookups and %d failures of the log the schedule has %d lookups", c.asked, c.failures, len(start))
		}
	}
}
