package payment_test

import (
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
)

var at = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func authorize(revision uint64, state payment.OperationState) payment.Operation {
	return payment.Operation{Revision: revision, Kind: processor.Authorize, Amount: 1250, State: state}
}

// job is an operation that acts on the authorization of revision 1.
func job(revision uint64, kind processor.Kind, amount domain.Amount, state payment.OperationState) payment.Operation {
	return payment.Operation{Revision: revision, Kind: kind, Amount: amount, State: state, Parent: 1}
}

// with is a payment with these operations.
func with(ops ...payment.Operation) payment.State {
	return payment.State{ID: "01payment", Revision: 9, Currency: "EUR", Amount: 1250, Operations: ops}
}

// TestStatusNewestCounts: only the newest try at a processor decides (D15).
func TestStatusNewestCounts(t *testing.T) {
	status(t, with(authorize(1, payment.StateDeclined), authorize(3, payment.StateSucceeded)), payment.StatusAuthorized)
	status(t, with(authorize(1, payment.StateFailed), authorize(3, payment.StateRequested)), payment.StatusPending)
}

func status(t *testing.T, s payment.State, want payment.Status) {
	t.Helper()
	if got := s.Status(); got != want {
		t.Errorf("status %s, not %s", got, want)
	}
}

// TestCheck: each invariant refuses its own kind of wrong state, and none a right one.
func TestCheck(t *testing.T) {
	wrong := map[string]func(*payment.State){
		"negative amount":             func(s *payment.State) { s.Amount = -1 },
		"amount too large":            func(s *payment.State) { s.Amount = domain.MaxAmount + 1 },
		"unknown currency":            func(s *payment.State) { s.Currency = "EUX" },
		"no operation":                func(s *payment.State) { s.Operations = nil },
		"operation of no event":       func(s *payment.State) { s.Operations[0].Revision = 0 },
		"operation of an event ahead": func(s *payment.State) { s.Operations[0].Revision = s.Revision + 1 },
		"operation of a negative sum": func(s *payment.State) { s.Operations[0].Amount = -1 },
		"two operations at once":      func(s *payment.State) { s.Operations[0].State = payment.StateUnknown },
		"authorized a second time": func(s *payment.State) {
			s.Operations[0].State = payment.StateSucceeded
			s.Operations[1].State = payment.StateSucceeded
		},
	}
	right := func() payment.State {
		return with(authorize(1, payment.StateFailed), authorize(3, payment.StateRequested))
	}
	if err := right().Check(); err != nil {
		t.Errorf("a right state: %v", err)
	}
	if err := (payment.State{}).Check(); err != nil {
		t.Errorf("no payment: %v", err)
	}
	held := func() payment.State {
		return with(authorize(1, payment.StateSucceeded), job(2, processor.Capture, 1000, payment.StateSucceeded),
			job(3, processor.Capture, 250, payment.StatePending), job(4, processor.Refund, 600, payment.StateSucceeded),
			job(5, processor.Refund, 400, payment.StatePending), job(6, processor.Capture, 9999, payment.StateFailed))
	}
	if err := held().Check(); err != nil {
		t.Errorf("a right state: %v", err)
	}
	tooMuch := map[string]func(*payment.State){
		"more captured than held":     func(s *payment.State) { s.Operations[2].Amount++ },
		"more captured than is left":  func(s *payment.State) { s.Amount-- },
		"more refunded than captured": func(s *payment.State) { s.Operations[4].Amount++ },
		"refunded before it is taken": func(s *payment.State) { s.Operations[1].State = payment.StatePending },
		"more refunded than one part": func(s *payment.State) {
			s.Operations[1].Amount, s.Operations[2].Amount = 500, 750
			s.Operations[2].State = payment.StateSucceeded
			s.Operations[3].Parent = 2
		},
		"refunds run beside each other": func(s *payment.State) {
			s.Operations[3].State, s.Operations[4].State = payment.StateRequested, payment.StateUnknown
		},
	}
	for name, damage := range tooMuch {
		s := held()
		damage(&s)
		if s.Check() == nil {
			t.Errorf("%s: nothing is said", name)
		}
	}
	for name, damage := range wrong {
		s := right()
		damage(&s)
		if s.Check() == nil {
			t.Errorf("%s: nothing is said", name)
		}
	}
}

// TestUnanswered: a caller who is let go sees the reason of the time-out before it is recorded
// (D8); an operation that has its answer is shown as it is.
func TestUnanswered(t *testing.T) {
	s := with(authorize(1, payment.StateRequested))
	view := s.Unanswered()
	if r := view.StatusReason(); r == nil || r.Type != domain.GatewayTimeout || view.Status() != payment.StatusPending {
		t.Errorf("shown as %s because of %v", view.Status(), r)
	}
	if s.StatusReason() != nil {
		t.Error("the state itself has changed")
	}
	for _, state := range []payment.OperationState{payment.StatePending, payment.StateSucceeded, payment.StateDeclined, payment.StateFailed} {
		if got := with(authorize(1, state)).Unanswered().Operations[0].State; got != state {
			t.Errorf("%s is shown as %s", state, got)
		}
	}
}

// TestOperationKey: the same on every resend, another for another request (D14).
func TestOperationKey(t *testing.T) {
	s := payment.State{ID: "01payment"}
	if s.OperationKey(1) != "01payment.1" || s.OperationKey(12) != "01payment.12" {
		t.Errorf("keys are %s and %s", s.OperationKey(1), s.OperationKey(12))
	}
}
