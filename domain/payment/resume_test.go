package payment_test

import (
	"encoding/json"
	"testing"
	"time"

	"payledger/domain/payment"
	"payledger/domain/processor"
)

// TestExpiriesThatEndNothing: an action that its customer abandoned, at a processor that fails each
// completion, is completed ever more rarely: neither the payment's events nor its state grow with
// each look.
func TestExpiriesThatEndNothing(t *testing.T) {
	s := newStory()
	s.given(t, "create amount=1250 currency=EUR order=order-1 to=ADYEN; answer 1 ACTION_REQUIRED transaction=t-1")
	state := s.state
	at := state.RequiredAction().ExpiresAt
	completions, newest := 0, time.Time{}
	look := func() {
		event, err := payment.DecideResume(state, payment.Resume{
			Request: payment.Request{At: at, EventID: "e"}, Action: 1, Outcome: processor.AuthenticationFailed, Expired: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		if event == nil {
			return
		}
		completions, newest = completions+1, at
		state = payment.Evolve(state, event)
		failed, err := payment.DecideAnswer(state, payment.RecordAnswer{
			At: at, EventID: "f", Request: state.Revision, Answer: processor.Answer{State: processor.Failed, Code: "technical_error", Retryable: true, At: at},
		})
		if err != nil {
			t.Fatal(err)
		}
		state = payment.Evolve(state, failed)
	}
	for range 500 { // two days
		look()
		at = at.Add(5 * time.Minute)
	}
	text, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	if completions < 5 || completions > 10 || state.Revision > 25 || len(text) > 10_000 {
		t.Errorf("%d completions, revision %d, a state of %d bytes", completions, state.Revision, len(text))
	}
	for range 10 { // once a day from then on
		before := completions
		for at = newest.Add(time.Minute); completions == before; at = at.Add(time.Minute) {
			was := newest
			if look(); completions > before && at.Sub(was) != 24*time.Hour {
				t.Fatalf("completed again after %s", at.Sub(was))
			}
		}
	}
	if event, err := payment.DecideCancel(state, payment.Cancel{Request: payment.Request{At: at}}); err != nil || event == nil {
		t.Errorf("it cannot be cancelled: %v", err)
	}
	event, err := payment.DecideResume(state, payment.Resume{Request: payment.Request{At: at}, Action: 1, Outcome: processor.Authenticated})
	if err != nil || event == nil {
		t.Errorf("it cannot be resumed by its customer: %v", err)
	}
	at = newest.Add(-25 * time.Hour)
	event, err = payment.DecideResume(state, payment.Resume{
		Request: payment.Request{At: at}, Action: 1, Outcome: processor.AuthenticationFailed, Expired: true, Overdue: true,
	})
	if err != nil || event == nil {
		t.Errorf("after the clock was set back: %v %v", event, err)
	}
}
