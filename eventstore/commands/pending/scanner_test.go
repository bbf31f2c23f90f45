package pending

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/processor"
)

const (
	patience = 100 * time.Second
	every    = 30 * time.Second
	actions  = time.Hour
)

// waits is one operation, action, inbox or attempt that waits.
type waits struct {
	id   string
	at   time.Time // requested, expired, come or decided
	name processor.Name
}

// world is views and commands in memory.
type world struct {
	mu                                    sync.Mutex
	operations, actions, inboxes, decided []waits
	asked                                 map[string][]time.Time
	under, most                           map[processor.Name]int
	hangs                                 processor.Name // it does not answer before the process ends
	takes                                 time.Duration  // until a processor answers
	broken                                bool           // the views cannot be read
	pages                                 int            // the longest page
	ahead                                 time.Duration  // how far the clock is ahead of the bubble's
}

func newWorld() *world {
	return &world{asked: map[string][]time.Time{}, under: map[processor.Name]int{}, most: map[processor.Name]int{}}
}

func (w *world) list(of []waits, place func(waits) (int64, bool), after Place, limit int) ([]Item, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken {
		return nil, errors.New("broken")
	}
	var all []Item
	for _, o := range of {
		if at, in := place(o); in && (at > after.At || at == after.At && o.id > after.ID) {
			all = append(all, Item{Place: Place{At: at, ID: o.id}, Account: domain.AccountID(o.name)})
		}
	}
	slices.SortFunc(all, func(a, b Item) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.ID, b.ID)) })
	all = all[:min(len(all), limit)]
	w.pages = max(w.pages, len(all))
	return all, nil
}

func (w *world) OpenOperations(_ context.Context, name processor.Name, slots Slots, after Place, limit int) ([]Item, error) {
	return w.list(w.operations, func(o waits) (int64, bool) {
		slot := Slot(o.at)
		ahead := !slots.Ahead.IsZero() && o.at.After(slots.Ahead)
		return slot, o.name == name && (!o.at.After(slots.Requested) || ahead) && slot <= slots.Through
	}, after, limit)
}

func (w *world) ExpiredActions(_ context.Context, name processor.Name, now time.Time, after Place, limit int) ([]Item, error) {
	return w.list(w.actions, func(o waits) (int64, bool) { return o.at.UnixMicro(), o.name == name && !o.at.After(now) }, after, limit)
}

func (w *world) WaitingInboxes(_ context.Context, name processor.Name, _ time.Time, after Place, limit int) ([]Item, error) {
	return w.list(w.inboxes, func(o waits) (int64, bool) { return o.at.UnixMicro(), o.name == name }, after, limit)
}

func (w *world) DueAttempts(_ context.Context, decided time.Time, after Place, limit int) ([]Item, error) {
	return w.list(w.decided, func(o waits) (int64, bool) { return o.at.UnixMicro(), !o.at.After(decided) }, after, limit)
}

func (w *world) Recover(ctx context.Context, account domain.AccountID, id domain.PaymentID) error {
	return w.ask(ctx, processor.Name(account), string(id))
}

func (w *world) ApplyPendingNotifications(ctx context.Context, reference domain.PaymentID) error {
	i := slices.IndexFunc(w.inboxes, func(o waits) bool { return o.id == string(reference) })
	return w.ask(ctx, w.inboxes[i].name, string(reference))
}

func (w *world) RecoverAttempt(ctx context.Context, _ domain.AccountID, id domain.AttemptID) error {
	return w.ask(ctx, "", string(id))
}

func (w *world) ask(ctx context.Context, name processor.Name, id string) error {
	w.mu.Lock()
	w.asked[id] = append(w.asked[id], time.Now())
	w.under[name]++
	w.most[name] = max(w.most[name], w.under[name])
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.under[name]--
	}()
	if name == w.hangs && name != "" {
		<-ctx.Done()
		return ctx.Err()
	}
	if w.takes > 0 {
		<-time.After(w.takes)
	}
	return nil
}

// when returns the times of the look-ups of a subject, counted from a start.
func (w *world) when(id string, since time.Time) (list []time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, at := range w.asked[id] {
		list = append(list, at.Sub(since))
	}
	return list
}

// now is a clock that can be set.
func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Add(w.ahead)
}

// set sets the clock.
func (w *world) set(ahead time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ahead = ahead
}

// keep runs a scanner for some time.
func (w *world) keep(t *testing.T, d time.Duration) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		(&Scanner{Views: w, Commands: w, Patience: patience, Every: every, Actions: actions, Now: w.now, Logger: zerolog.Nop()}).Run(ctx)
	}()
	<-time.After(d) // by the bubble's clock
	stop()
	<-ended
}

// TestSchedule checks that a start asks about everything at once. After that the first look-up of
// an operation comes when the patience since its request is over, and the next ones after every
// Cycle (D8).
func TestSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, start := newWorld(), time.Now()
		ages := map[string]time.Duration{"of long ago": 1000*Cycle + 7*time.Second, "just now": time.Second, "at once": 0, "early": patience - time.Second}
		for id, age := range ages {
			w.operations = append(w.operations, waits{id, start.Add(-age), processor.Adyen})
		}
		w.operations = append(w.operations, waits{"later", start.Add(10 * time.Second), processor.Stripe})
		w.keep(t, 4*Cycle)
		for id, age := range ages {
			asked := w.when(id, start)
			if len(asked) != 5 || asked[0] != 0 {
				t.Errorf("%s: asked %v after the start", id, asked)
				continue
			}
			for n, at := range asked[1:] {
				want := Next(start.Add(-age), patience, start).Add(time.Duration(n) * Cycle).Sub(start)
				if late := at - want; late < 0 || late > lookMost {
					t.Errorf("%s: asked after %s, not %s", id, at, want)
				}
			}
		}
		if asked := w.when("later", start); len(asked) != 4 || asked[0] < 10*time.Second+patience || asked[0] > 11*time.Second+patience {
			t.Errorf("later: asked %v after the start", asked)
		}
	})
}

// TestHangingProcessor checks that a processor that never answers blocks only its own goroutines:
// due work at other processors, and work without a processor, is done at once, and the end of the
// process does not wait.
func TestHangingProcessor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, start := newWorld(), time.Now()
		w.hangs = processor.Adyen
		for n := range 1000 {
			for _, name := range []processor.Name{processor.Adyen, processor.Stripe} {
				at := start.Add(-time.Duration(n) * time.Hour)
				w.operations = append(w.operations, waits{fmt.Sprintf("operation %s %d", name, n), at, name})
				w.actions = append(w.actions, waits{fmt.Sprintf("action %s %d", name, n), at, name})
				w.inboxes = append(w.inboxes, waits{fmt.Sprintf("inbox %s %d", name, n), at, name})
			}
			w.decided = append(w.decided, waits{fmt.Sprintf("attempt %d", n), start.Add(-time.Hour), ""})
		}
		w.keep(t, time.Second)
		for n := range 1000 {
			for _, id := range []string{"operation STRIPE %d", "action STRIPE %d", "inbox STRIPE %d", "attempt %d"} {
				if asked := w.when(fmt.Sprintf(id, n), start); len(asked) != 1 || asked[0] != 0 {
					t.Fatalf(id+" was done %v after the start", n, asked)
				}
			}
		}
		if all := operationsAtOnce + actionsAtOnce + inboxesAtOnce; w.most[processor.Adyen] != all || w.most[processor.Stripe] > all || w.most[""] != 1 {
			t.Errorf("at once: %v", w.most)
		}
		if w.pages > pageSize {
			t.Errorf("%d entries of a list were in memory", w.pages)
		}
	})
}

// TestSlowProcessor checks that a cycle that needs more than a Cycle for a slot asks about each
// operation once a slot.
func TestSlowProcessor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, start := newWorld(), time.Now()
		w.takes = 20 * time.Second
		const count = 3 * operationsAtOnce * int(Cycle/(20*time.Second)) // 3 Rounds for a slot
		for n := range count {
			w.operations = append(w.operations, waits{fmt.Sprint(n), start.Add(-time.Hour - time.Duration(n)*time.Second), processor.Adyen})
		}
		w.keep(t, 12*Cycle)
		for n := range count {
			if asked := w.when(fmt.Sprint(n), start); len(asked) < 3 || len(asked) > 5 {
				t.Errorf("%d was asked about at %v", n, asked)
			}
		}
	})
}

// TestBrokenViews: when the views can be read again, everything that became due meanwhile is done.
func TestBrokenViews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, start := newWorld(), time.Now()
		w.broken = true
		w.operations = []waits{{"one", start.Add(-time.Hour), processor.PayPal}, {"two", start.Add(-time.Second), processor.PayPal}}
		w.actions = []waits{{"three", start.Add(-time.Hour), processor.PayPal}}
		w.decided = []waits{{"four", start.Add(-time.Hour), ""}}
		go func() {
			<-time.After(10 * time.Second)
			w.mu.Lock()
			defer w.mu.Unlock()
			w.broken = false
		}()
		w.keep(t, 35*time.Second)
		for id, most := range map[string]time.Duration{"one": 11 * time.Second, "two": 11 * time.Second, "three": 11 * time.Second, "four": every} {
			if asked := w.when(id, start); len(asked) != 1 || asked[0] > most {
				t.Errorf("%s was done %v after the start", id, asked)
			}
		}
	})
}

// TestActionsAgain: the look-up of an action without an end is repeated every Cycle; attempts and
// inboxes periodically.
func TestActionsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, start := newWorld(), time.Now()
		w.actions = []waits{{"expired", start.Add(-time.Hour), processor.Adyen}, {"expires", start.Add(90 * time.Second), processor.Adyen}}
		w.inboxes = []waits{{"inbox", start, processor.Adyen}}
		w.decided = []waits{{"decided", start, ""}}
		w.keep(t, 2*Cycle+time.Second)
		for id, want := range map[string]int{"expired": 3, "expires": 3, "inbox": 21, "decided": 1 + 17} {
			if asked := w.when(id, start); len(asked) != want {
				t.Errorf("%s was done %d times: %v", id, len(asked), asked)
			}
		}
		if asked := w.when("expires", start); asked[0] < 90*time.Second || asked[0] > 91*time.Second {
			t.Errorf("an action that expired after %s was ended after %s", 90*time.Second, asked[0])
		}
	})
}

// TestSetBack checks entries that were recorded while the clock was a day or more ahead. Once the
// clock is set back, they are handled by the same process and by a process that starts then:
// operations every Cycle, actions and attempts at once.
func TestSetBack(t *testing.T) {
	for _, jump := range []time.Duration{25 * time.Hour, 72 * time.Hour} {
		for _, restarts := range []bool{false, true} {
			t.Run(fmt.Sprint(jump, restarts), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w, start := newWorld(), time.Now()
					back := 10 * time.Minute
					noted := start.Add(back - time.Minute + jump)
					w.operations = []waits{{"operation", noted, processor.Adyen}}
					w.actions = []waits{{"action", noted.Add(actions), processor.Adyen}, {"open", start.Add(back + actions/2), processor.Adyen}}
					w.decided = []waits{{"attempt", noted, ""}}
					if w.set(jump); restarts {
						<-time.After(back)
						w.set(0)
					} else {
						go func() {
							<-time.After(back)
							w.set(0)
						}()
					}
					w.keep(t, back+2*Cycle+time.Minute)
					end := time.Now()
					for id, within := range map[string]time.Duration{"operation": Cycle + lookMost, "action": 2 * lookMost, "attempt": every} {
						last, first := start.Add(back), true // with look-ups of it since then, again and again
						for _, at := range w.when(id, start) {
							if at < back {
								continue
							}
							if gap := start.Add(at).Sub(last); gap > Cycle+2*lookMost || first && gap > within {
								t.Errorf("%s was asked about %s later", id, gap)
							}
							last, first = start.Add(at), false
						}
						if gap := end.Sub(last); gap > Cycle+2*lookMost {
							t.Errorf("%s was not asked about in the last %s", id, gap)
						}
					}
					if asked := w.when("open", start); len(asked) > 0 && asked[len(asked)-1] > back {
						t.Errorf("an action that has not expired was ended %v after the start", asked)
					}
				})
			})
		}
	}
}
