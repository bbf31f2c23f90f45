package projections

import (
	"context"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore/commands/pending"
	"payledger/projections/sqlitefile"
)

// openOperations reads all open operations at ADYEN that were requested by then.
func openOperations(t *testing.T, n *node, requested time.Time) []pending.Item {
	t.Helper()
	slots := pending.Slots{Through: math.MaxInt64, Requested: requested}
	all, err := n.OpenOperations(testContext(t), processor.Adyen, slots, pending.Place{}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func (n *node) payment(t *testing.T, id string) payment.State {
	t.Helper()
	s, err := n.Payment(testContext(t), testAccount, domain.PaymentID(id))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// pendingModel is a model with payments that were requested a minute apart, of which every third
// has its outcome, and every fifth waits for its customer.
func pendingModel(t *testing.T, count int) (*Projections, []payment.State) {
	t.Helper()
	l := newLogbook(1)
	var states []payment.State
	for n := range count {
		l.now = start.Add(time.Duration(n) * time.Minute)
		s := l.create(n)
		switch {
		case n%5 == 0:
			s = l.answerTo(s, 1, processor.Answer{State: processor.ActionRequired, At: l.now, ProcessorTransactionID: "t", ActionToken: "a"})
		case n%3 == 0:
			s = l.answer(s, approved())
		}
		states = append(states, s)
	}
	m := openTestModel(t, filepath.Join(t.TempDir(), FileName), 1)
	t.Cleanup(func() { mustClose(t, m) })
	mustApply(t, m, l.all)
	return &Projections{model: m}, states
}

// TestOpenOperations checks that operations without an outcome are found by their slot, with any
// size of page. Operations that were requested later, belong to another processor, have their
// outcome, or wait for their customer are not found (D8).
func TestOpenOperations(t *testing.T) {
	p, states := pendingModel(t, 100)
	for _, c := range []struct {
		slots pending.Slots
		limit int
	}{
		{pending.Slots{Through: pending.Cycle.Microseconds(), Requested: start.Add(time.Hour)}, 1},
		{pending.Slots{Through: pending.Cycle.Microseconds(), Requested: start.Add(2 * time.Hour)}, 7},
		{pending.Slots{From: time.Minute.Microseconds(), Through: 3 * time.Minute.Microseconds(), Requested: start.Add(2 * time.Hour)}, 3},
		{pending.Slots{From: pending.Slot(start.Add(time.Minute)), Through: pending.Slot(start.Add(time.Minute)) + 5000, Requested: start.Add(2 * time.Hour)}, 3},
	} {
		var want []string
		for n, s := range states {
			at := s.Operations[0].RequestedAt
			if slot := pending.Slot(at); n%5 != 0 && n%3 != 0 && !at.After(c.slots.Requested) && slot >= c.slots.From && slot <= c.slots.Through {
				want = append(want, string(s.ID))
			}
		}
		var got []string
		for after := (pending.Place{At: c.slots.From}); ; {
			page, err := p.OpenOperations(testContext(t), processor.Adyen, c.slots, after, c.limit)
			if err != nil || len(page) > c.limit || !slices.IsSortedFunc(page, func(a, b pending.Item) int { return int(a.At - b.At) }) {
				t.Fatal(page, err)
			}
			for _, i := range page {
				got = append(got, i.ID)
			}
			if len(page) < c.limit {
				break
			}
			after = page[len(page)-1].Place
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) || len(want) == 0 {
			t.Errorf("%+v: %d found, %d are due", c.slots, len(got), len(want))
		}
	}
	all := pending.Slots{Through: pending.Cycle.Microseconds(), Requested: start.Add(2 * time.Hour)}
	if page, err := p.OpenOperations(testContext(t), processor.Stripe, all, pending.Place{}, 10); err != nil || len(page) != 0 {
		t.Errorf("of another processor %v %v", page, err)
	}
}

// TestExpiredActions: by the time of their expiry, from behind a place on (D7).
func TestExpiredActions(t *testing.T) {
	p, states := pendingModel(t, 20)
	first := states[0].RequiredAction().ExpiresAt
	for _, c := range []struct {
		now   time.Time
		after pending.Place
		limit int
		want  []int
	}{
		{first.Add(-1 * time.Microsecond), pending.Place{}, 10, nil},
		{first, pending.Place{}, 10, []int{0}},
		{first.Add(time.Hour), pending.Place{}, 10, []int{0, 5, 10, 15}},
		{first.Add(time.Hour), pending.Place{At: first.UnixMicro(), ID: string(states[0].ID)}, 2, []int{5, 10}},
	} {
		page, err := p.ExpiredActions(testContext(t), processor.Adyen, c.now, c.after, c.limit)
		if err != nil || len(page) != len(c.want) {
			t.Fatalf("%+v, not %v: %v", page, c.want, err)
		}
		for i, n := range c.want {
			if page[i].ID != string(states[n].ID) || page[i].Account != testAccount {
				t.Errorf("%+v is not payment %d", page[i], n)
			}
		}
	}
}

// TestPendingOperations: how many wait, since when, and when the wheel comes to the first of them
// (D8).
func TestPendingOperations(t *testing.T) {
	p, states := pendingModel(t, 100)
	now := start.Add(30 * time.Hour)
	list, err := p.PendingOperations(testContext(t), now)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	count, next := 0, now.Add(pending.Cycle)
	for n, s := range states {
		if n%5 != 0 && n%3 != 0 {
			count++
			if at := pending.Next(s.Operations[0].RequestedAt, 0, now); at.Before(next) {
				next = at
			}
		}
	}
	if got := list[0]; got.Processor != processor.Adyen || got.Kind != processor.Authorize || got.State != payment.StateRequested || got.Count != count ||
		!got.Since.Equal(states[1].Operations[0].RequestedAt) || !got.Next.Equal(next) {
		t.Errorf("%+v, not %d, next %s", got, count, next)
	}
}

// TestPendingPlans checks that due operations are found along an index, in its order, however many
// others wait.
func TestPendingPlans(t *testing.T) {
	m := openTestModel(t, filepath.Join(t.TempDir(), FileName), 1)
	defer mustClose(t, m)
	for query, c := range map[string]struct {
		args []any
		plan string
	}{
		selectSlots:    {[]any{"ADYEN", 1, "a", 2, 3, 4, 5}, "SEARCH payments USING INDEX payments_slot (processor=? AND (due_slot,id)>(?,?)"},
		selectActions:  {[]any{"ADYEN", 1, "a", 2, 3}, "SEARCH payments USING INDEX payments_action (processor=? AND (due_at,id)>(?,?)"},
		selectInboxes:  {[]any{"ADYEN", 1, "a", 2, 3}, "SEARCH inboxes USING COVERING INDEX inboxes_since (processor=? AND (since,reference)>(?,?)"},
		selectAttempts: {[]any{1, "a", 2, 3}, "SEARCH attempts USING INDEX attempts_decided ((decided_at,id)>(?,?)"},
		selectWaiting:  {[]any{"acct", 1, "a", 2}, "SEARCH attempts USING INDEX attempts_waiting (account=? AND (expires_at,id)>(?,?)"},
		selectPending:  {[]any{1, 2, 3}, "SCAN payments USING COVERING INDEX payments_slot"},
		selectEnded:    {[]any{"a", 1}, "SEARCH instruments USING INDEX instruments_ended (token>?)"},
	} {
		steps, err := readRows(context.Background(), m, func(scan sqlitefile.Scan) (step string, err error) {
			var id, parent, unused int
			err = scan(&id, &parent, &unused, &step)
			return step, err
		}, "EXPLAIN QUERY PLAN "+query, c.args...)
		sorts := slices.ContainsFunc(steps, func(s string) bool { return strings.Contains(s, "ORDER BY") })
		if err != nil || !strings.HasPrefix(steps[0], c.plan) || sorts {
			t.Errorf("%s\n%v %v", query, steps, err)
		}
	}
}
