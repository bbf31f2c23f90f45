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
	"payledger/eventstore"
	"payledger/eventstore/due"
)

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

func errandAt(name processor.Name, n int, next time.Time) *question {
	return &question{key: domain.OperationKey(fmt.Sprintf("%s.%d", name, n)), processor: name, next: next, state: payment.StatePending}
}

// TestAgenda checks, for random additions and removals, that every open errand is started once, not before its time, and by no more
// goroutines of its processor than allowed.
func TestAgenda(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, now := newAgenda(), noon
		stands, out := map[domain.OperationKey]time.Time{}, map[domain.OperationKey]bool{}
		running := map[*processorQueue]int{}
		key := func() *question {
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
				start, next := a.moveDue(now)
				for _, l := range start {
					running[l]++
				}
				if !next.IsZero() && !next.After(now) {
					t.Fatalf("%s is due at %s", next, now)
				}
			},
			"take": func(t *rapid.T) {
				for l, n := range running {
					if n == 0 {
						continue
					}
					e := a.next(l)
					switch {
					case e == nil:
						running[l]--
					case out[e.key] || stands[e.key].IsZero() || stands[e.key].After(now):
						t.Fatalf("%s is handed out; due at %s", e.key, stands[e.key])
					default:
						out[e.key] = true
					}
					break
				}
			},
			"": func(t *rapid.T) {
				held := 0
				for _, l := range a.queues {
					held += l.held
					if l.running > questionsAtOnce || l.running != running[l] {
						t.Fatalf("%d goroutines, %d started", l.running, running[l])
					}
				}
				if held != len(stands) || len(a.by) != len(stands) {
					t.Fatalf("%d held, %d known, %d stand", held, len(a.by), len(stands))
				}
			},
		})
		now = now.Add(time.Minute)
		start, next := a.moveDue(now)
		for _, l := range start {
			running[l]++
		}
		for l, n := range running {
			for ; n > 0; n-- {
				for e := a.next(l); e != nil; e = a.next(l) {
					out[e.key] = true
				}
			}
		}
		if len(out) != len(stands) || !next.IsZero() {
			t.Fatalf("%d of %d were handed out; next %s", len(out), len(stands), next)
		}
	})
}

// TestAgendaRoom: no processor takes the others' room, and operations with the longest interval are in the views alone, except after a
// failure of the log.
func TestAgendaRoom(t *testing.T) {
	a := newAgenda()
	for n := range 2 * agendaRoom {
		a.add(errandAt(processor.Adyen, n, noon))
	}
	a.add(errandAt(processor.Stripe, 1, noon))
	rare := errandAt(processor.Stripe, 2, noon)
	rare.asked = 12
	a.add(rare)
	if len(a.by) != agendaRoom+1 || a.has(rare.key) || !a.has("STRIPE.1") {
		t.Errorf("%d errands", len(a.by))
	}
	failed := errandAt(processor.Stripe, 3, noon)
	failed.tries = tries{asked: 12, failures: 1}
	if a.add(failed); !a.has(failed.key) {
		t.Error("an operation that failed at the log is left to the views")
	}
	a.drop(failed.key)
	a.drop("ADYEN.0")
	a.add(errandAt(processor.Adyen, 2*agendaRoom, noon))
	if len(a.by) != agendaRoom+1 {
		t.Errorf("%d errands after one has left", len(a.by))
	}
}

// TestPark: a flight ends with the wait of its callers. A question that a caller joins goes on until the caller's
// deadline; a signal that comes while it ends is not lost.
func TestPark(t *testing.T) { synctest.Test(t, testPark) }

func testPark(t *testing.T) {
	tip := eventstore.Tip[payment.State]{State: payment.State{ID: "01p", Operations: []payment.Operation{
		{Revision: 1, State: payment.StateRequested, RequestedAt: noon, Target: payment.Target{Processor: processor.Adyen}},
	}}}
	fs := newInFlightOperations()
	fly := func(awaited bool) *operationInFlight {
		f, fresh := fs.join(newInFlight(tip, 1, due.In(noon, time.Minute), awaited))
		if !fresh {
			t.Fatal("flies already")
		}
		return f
	}
	question := fly(false)
	if !fs.park(question, noon, question.wait(false)) || fs.find("01p.1") != nil || !fs.agenda.has("01p.1") {
		t.Fatal("a question for which nobody waits goes on")
	}
	if e, _ := fs.agenda.find("01p.1"); !e.next.Equal(time.Now().Add(100*time.Millisecond)) || e.asked != 1 {
		t.Fatalf("%+v", e)
	}
	question = fly(false)
	if fs.agenda.has("01p.1") {
		t.Fatal("in the agenda while it flies")
	}
	if f, fresh := fs.join(newInFlight(tip, 1, due.In(noon, time.Minute), true)); fresh || f != question {
		t.Fatal("flies twice")
	}
	if fs.park(question, noon.Add(59*time.Second), time.Second) {
		t.Fatal("ended while a caller waits")
	}
	fs.askNow("01p.1")
	if !fs.park(question, noon.Add(time.Minute), time.Second) {
		t.Fatal("goes on after the deadline")
	}
	if e, _ := fs.agenda.find("01p.1"); !e.next.Equal(time.Now()) {
		t.Fatalf("the signal was lost: %+v", e)
	}
	answered := fly(true)
	answered.publish(tip.State, true)
	if !fs.park(answered, noon, time.Second) {
		t.Fatal("goes on although its callers were answered")
	}
}

// TestAgendaOfADamagedShard: a question is rare when its tries are as far apart as the views' own search: the agenda leaves it to them. One
// that the log fails stays in the agenda, but not for ever: a damaged shard fails all its questions, and they would take the room of others.
func TestAgendaOfADamagedShard(t *testing.T) {
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
		a, q := newAgenda(), errandAt(processor.Names[0], 1, noon)
		q.tries = tries{asked: c.asked, failures: c.failures}
		a.add(q)
		if start, _ := a.moveDue(noon); (len(start) == 1) != c.kept {
			t.Errorf("after %d questions and %d failures of the log the agenda has %d questions", c.asked, c.failures, len(start))
		}
	}
}
