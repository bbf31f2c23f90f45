package payment_test

import (
	"reflect"
	"slices"
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

// with is a payment with these operations.
func with(ops ...payment.Operation) payment.State {
	return payment.State{ID: "01payment", Revision: 9, Currency: "EUR", Amount: 1250, Operations: ops}
}

// The truth table of Status (§3.1, D7), a test a row.

func TestStatusBeforeCreation(t *testing.T) { status(t, payment.State{}, payment.StatusPending) }

func TestStatusRequested(t *testing.T) {
	status(t, with(authorize(1, payment.StateRequested)), payment.StatusPending)
}

func TestStatusUnknown(t *testing.T) {
	status(t, with(authorize(1, payment.StateUnknown)), payment.StatusPending)
}

func TestStatusPending(t *testing.T) {
	status(t, with(authorize(1, payment.StatePending)), payment.StatusPending)
}

func TestStatusSucceeded(t *testing.T) {
	status(t, with(authorize(1, payment.StateSucceeded)), payment.StatusAuthorized)
}

func TestStatusDeclined(t *testing.T) {
	status(t, with(authorize(1, payment.StateDeclined)), payment.StatusDeclined)
}

func TestStatusFailed(t *testing.T) {
	status(t, with(authorize(1, payment.StateFailed)), payment.StatusFailed)
}

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
	for name, damage := range wrong {
		s := right()
		damage(&s)
		if s.Check() == nil {
			t.Errorf("%s: nothing is said", name)
		}
	}
}

// TestEvolveKnowsEveryEvent: each event changes more than the revision and the time.
func TestEvolveKnowsEveryEvent(t *testing.T) {
	created := payment.Created{
		At: at, ID: "01payment", Currency: "EUR", Amount: 1250, Route: []payment.Target{{Processor: processor.Adyen}},
	}
	for _, e := range payment.Events() {
		before := payment.Evolve(payment.State{}, created)
		if _, first := e.(payment.Created); first {
			before, e = payment.State{}, created
		} else {
			e = naming(e, 1)
		}
		after := payment.Evolve(before, e)
		if after.Revision != before.Revision+1 {
			t.Errorf("%s: revision %d", e.Type(), after.Revision)
		}
		after.Revision, after.UpdatedAt = before.Revision, before.UpdatedAt
		if reflect.DeepEqual(before, after) {
			t.Errorf("%s changes nothing", e.Type())
		}
	}
}

// naming sets the request that an event answers.
func naming(e payment.Event, request uint64) payment.Event {
	v := reflect.New(reflect.TypeOf(e)).Elem()
	v.FieldByName("Request").SetUint(request)
	return v.Interface().(payment.Event)
}

// TestUnanswered: a caller who is let go sees the reason of the time-out before it is recorded (D8); an
// operation that has its answer is shown as it is.
func TestUnanswered(t *testing.T) {
	s := with(authorize(1, payment.StateRequested))
	view := s.Unanswered(1)
	if r := view.StatusReason(); r == nil || r.Type != domain.GatewayTimeout || view.Status() != payment.StatusPending {
		t.Errorf("shown as %s because of %v", view.Status(), r)
	}
	if s.StatusReason() != nil {
		t.Error("the state itself has changed")
	}
	for _, state := range []payment.OperationState{payment.StatePending, payment.StateSucceeded, payment.StateDeclined, payment.StateFailed} {
		if got := with(authorize(1, state)).Unanswered(1).Operations[0].State; got != state {
			t.Errorf("%s is shown as %s", state, got)
		}
	}
}

// TestAnswersOfOneStateDoNotMeet: two nodes that fold different answers into the same state share nothing.
func TestAnswersOfOneStateDoNotMeet(t *testing.T) {
	s := payment.Evolve(payment.State{}, payment.Created{At: at, ID: "01payment", Currency: "EUR", Route: []payment.Target{{}}})
	s = payment.Evolve(s, payment.AuthorizationPending{Answer: payment.Answer{At: at, Request: 1, EventID: "p"}})
	s.Operations[0].Answers = slices.Grow(s.Operations[0].Answers, 4) // a list with room, as a decoder may make it
	a := payment.Evolve(s, payment.Authorized{Answer: payment.Answer{At: at, Request: 1, EventID: "a"}})
	b := payment.Evolve(s, payment.Declined{Answer: payment.Answer{At: at, Request: 1, EventID: "b"}})
	if a.Operations[0].Answers[1].EventID != "a" || b.Operations[0].Answers[1].EventID != "b" || len(s.Operations[0].Answers) != 1 {
		t.Error("two states share their answers")
	}
}

// TestOperationKey: the same on every resend, another for another request (D14).
func TestOperationKey(t *testing.T) {
	s := payment.State{ID: "01payment"}
	if s.OperationKey(1) != "01payment.1" || s.OperationKey(12) != "01payment.12" {
		t.Errorf("keys are %s and %s", s.OperationKey(1), s.OperationKey(12))
	}
}
