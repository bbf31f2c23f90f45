package crashtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"
)

// Config is what Run needs.
type Config struct {
	Ledger string                    // the program payledger
	Vendor func(t testing.TB) Vendor // a new double, for each pair of a ledger and a connector
}

// mode is how a ledger treats an operation that the connector has not seen, and when the vendor's
// messages come.
type mode struct {
	name  string
	args  []string
	early bool // as soon as the processes run again; else after the outcome
}

var (
	resends = mode{"sends again", nil, false}
	fences  = mode{"fences", []string{"--payment-timeout", "1s"}, true}
)

// Run kills the processes around operations, and prints a table of the results.
func Run(t *testing.T, c Config) {
	var results table
	t.Cleanup(func() { t.Logf("%s", &results) }) // after the parallel tests
	has := c.Vendor(t)
	if !whole {
		results.add(play(t, c, resends, sample(has))...)
		return
	}
	for _, op := range Operations {
		if has.Requests[op] == "" {
			continue
		}
		for _, m := range []mode{resends, fences} {
			t.Run(string(op)+", "+m.name, func(t *testing.T) {
				t.Parallel()
				results.add(play(t, c, m, all(has, op))...)
			})
		}
	}
}

// Try plays one cell and returns its fault: a test with a vendor that breaks a promise shows that
// Run would find it. ErrLost and ErrDoubled are faults of money.
func Try(t *testing.T, c Config, op Operation, step Step, victim Victim) error {
	t.Helper()
	w, err := open(t, c.Ledger, c.Vendor(t), resends)
	if err != nil {
		t.Fatal(err)
	}
	return w.run(t.Context(), cell{op: op, step: step, victim: victim}).fault
}

// sample takes each operation once, and each step and victim as often as it comes to.
func sample(v Vendor) (cells []cell) {
	victims := []Victim{TheLedger, Connector, BothOfThem}
	for _, op := range Operations {
		if n := len(cells); v.Requests[op] != "" {
			cells = append(cells, cell{op: op, step: Steps[n*4%len(Steps)], victim: victims[(n+n/3)%3], early: n%2 == 0})
		}
	}
	return v.without(append(cells, cell{Authorize, Asking, BothOfThem, false}, cell{Capture, Away, BothOfThem, false}, cell{Refund, Saved, Nobody, false}))
}

// all are the cells of an operation.
func all(v Vendor, op Operation) (cells []cell) {
	for n, step := range Steps {
		for _, victim := range []Victim{TheLedger, Connector, BothOfThem} {
			cells = append(cells, cell{op, step, victim, n%2 == 0})
		}
	}
	for _, step := range Faults {
		victim := BothOfThem
		if step == Cut || step == Fails || step == Saved {
			victim = Nobody
		}
		cells = append(cells, cell{op, step, victim, false})
	}
	return v.without(cells)
}

// without leaves out the cells that the vendor does not have, and those that take too long.
func (v Vendor) without(cells []cell) []cell {
	return slices.DeleteFunc(cells, func(c cell) bool {
		return v.Requests[c.op] == "" || c.step == Saved && v.FailSaved == nil || v.Waits != nil && v.Waits(c.op, c.step)
	})
}

// play runs cells one after the other at one ledger and one connector.
func play(t *testing.T, c Config, m mode, cells []cell) (results []result) {
	t.Helper()
	w, err := open(t, c.Ledger, c.Vendor(t), m)
	if err != nil {
		t.Fatal(err)
	}
	captures, faults := false, 0
	for _, one := range cells {
		if is := one.op == AutoCapture; is != captures {
			if captures = is; w.automatic(t.Context(), is) != nil {
				t.Fatal("the account's captureMode cannot be set")
			}
		}
		began := time.Now()
		r := w.run(t.Context(), one)
		t.Logf("%s, %s, %s: %s", one.op, one.step.short(), one.victim, time.Since(began).Round(time.Millisecond))
		if results = append(results, r); r.fault != nil {
			t.Error(r.fault)
			if faults++; faults == 3 {
				break
			}
		}
	}
	if err := w.close(t.Context()); err != nil {
		t.Error(err)
	}
	if t.Failed() {
		t.Logf("the ledger's log: %s\nthe connector's log: %s", w.ledgerLog, w.connLog)
	}
	return results
}

// table is the results of a run.
type table struct {
	mu   sync.Mutex
	list []result
}

func (t *table) add(list ...result) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.list = append(t.list, list...)
}

// String returns the table: a row for each operation and victim, and a column for each step.
func (t *table) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := &strings.Builder{}
	columns := append(slices.Clone(Steps), Faults...)
	lines := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(lines, "\noperation\tkilled")
	for _, step := range columns {
		fmt.Fprintf(lines, "\t%s", step.short())
	}
	fmt.Fprintln(lines)
	for _, op := range Operations {
		for _, victim := range []Victim{TheLedger, Connector, BothOfThem, Nobody} {
			row, any := fmt.Sprintf("%s\t%s", op, victim), false
			for _, step := range columns {
				s := t.sum(func(r result) bool { return r.op == op && r.victim == victim && r.step == step })
				row += "\t" + s.String()
				any = any || s.count > 0
			}
			if any {
				fmt.Fprintln(lines, row)
			}
		}
	}
	_ = lines.Flush()
	for _, step := range columns {
		fmt.Fprintln(out, step)
	}
	s := t.sum(func(result) bool { return true })
	fmt.Fprintf(out, "%d times: %d carried out once, %d not at all; %d lost, %d doubled, %d other faults\n", s.count, s.done, s.count-s.done-s.faults(), s.lost, s.doubled, s.other)
	return out.String()
}

// short returns the part of a step's name before its text.
func (s Step) short() string {
	name, _, _ := strings.Cut(string(s), ":")
	return name
}

// sum counts results.
type sum struct{ count, done, lost, doubled, other int }

func (s sum) faults() int { return s.lost + s.doubled + s.other }

func (s sum) String() string {
	switch {
	case s.count == 0:
		return ""
	case s.faults() > 0:
		return fmt.Sprintf("%d: %d lost, %d doubled, %d faults", s.count, s.lost, s.doubled, s.other)
	case s.done < s.count:
		return fmt.Sprintf("%d (%d not done)", s.count, s.count-s.done)
	}
	return fmt.Sprint(s.count)
}

func (t *table) sum(counts func(result) bool) (s sum) {
	for _, r := range t.list {
		if !counts(r) {
			continue
		}
		s.count++
		switch {
		case errors.Is(r.fault, ErrLost):
			s.lost++
		case errors.Is(r.fault, ErrDoubled):
			s.doubled++
		case r.fault != nil:
			s.other++
		case r.done:
			s.done++
		}
	}
	return s
}
