package payments

import (
	"testing"
	"time"

	"payledger/domain/payment"
	"payledger/domain/processor"
)

// TestLateVoidDecides: the void of a workflow's cancel was fenced while the payment was pending,
// and the void that followed the approval failed, because the first one had succeeded all the same.
// The late success decides the run, whether the key belongs to the void or to an intent before it
// (D7, D19).
func TestLateVoidDecides(t *testing.T) {
	t.Parallel()
	answer := func(request uint64) payment.Answer { return payment.Answer{At: time.Unix(1, 0), Request: request} }
	failed := func(request uint64, code string) payment.FailedAnswer {
		a := answer(request)
		a.Code = code
		return payment.FailedAnswer{Answer: a}
	}
	s := payment.State{}
	again := map[uint64]bool{3: true}
	for i, step := range []struct {
		event payment.Event
		want  uint64
	}{
		{payment.Created{ID: "01payment", Currency: "EUR", Amount: 1250, Route: []payment.Target{{Processor: processor.Adyen}}}, 3},
		{payment.AuthorizationPending{Answer: answer(1)}, 3},
		{payment.VoidRequested{Amount: 1250}, 3},
		{payment.VoidFailed{FailedAnswer: failed(3, processor.CodeFenced), Intended: true}, 0},
		{payment.Authorized{Answer: answer(1)}, 5},
		{payment.Voided{Answer: answer(3)}, 3},
		{payment.VoidFailed{FailedAnswer: failed(5, "already_voided")}, 3},
	} {
		s = payment.Evolve(s, step.event)
		if i < 2 {
			continue // not requested yet
		}
		for name, k := range map[string]keyedRequest{"void": {3, false, again}, "intent": {2, true, again}} {
			if i == 2 {
				k.again = nil
			}
			if got := k.operation(s); got != step.want {
				t.Errorf("%s, after %s: operation %d decides, not %d", name, step.event.Type(), got, step.want)
			}
		}
	}
	if op, _ := s.Operation(3); !outcomeOf(s, op).Succeeded {
		t.Errorf("%+v", op)
	}
}

// TestWithoutVoid: an intended cancellation for which no void decides succeeded only if no money
// was taken. A capture at the processor can come first.
func TestWithoutVoid(t *testing.T) {
	t.Parallel()
	for status, want := range map[payment.Status]Outcome{
		payment.StatusPending:          {},
		payment.StatusDeclined:         {Known: true, Succeeded: true},
		payment.StatusFailed:           {Known: true, Succeeded: true},
		payment.StatusCancelled:        {Known: true, Succeeded: true},
		payment.StatusAuthorized:       {Known: true, Message: "The payment was not cancelled: it is AUTHORIZED."},
		payment.StatusPartiallySettled: {Known: true, Message: "The payment was not cancelled: it is PARTIALLY_SETTLED."},
		payment.StatusSettled:          {Known: true, Message: "The payment was not cancelled: it is SETTLED."},
	} {
		if got := withoutVoid(status); got != want {
			t.Errorf("%s: %+v, want %+v", status, got, want)
		}
	}
}
