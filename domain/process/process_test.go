package process_test

import (
	"testing"
	"time"

	"payledger/domain/payment"
	"payledger/domain/process"
)

// TestAuthorization: only an operation without its final answer is asked for (D8).
func TestAuthorization(t *testing.T) {
	rows := map[payment.OperationState]process.Step{
		payment.StateRequested: process.Ask,
		payment.StateUnknown:   process.Ask,
		payment.StatePending:   process.Ask,
		payment.StateSucceeded: process.Nothing,
		payment.StateDeclined:  process.Nothing,
		payment.StateFailed:    process.Nothing,
	}
	for state, want := range rows {
		s := payment.State{Operations: []payment.Operation{{Revision: 1, State: payment.StateFailed}, {Revision: 4, State: state}}}
		step, revision := process.Authorization(s)
		if step != want || (step == process.Ask) != (revision == 4) {
			t.Errorf("%s: step %d for revision %d", state, step, revision)
		}
	}
	if step, revision := process.Authorization(payment.State{}); step != process.Nothing || revision != 0 {
		t.Errorf("before creation: step %d for revision %d", step, revision)
	}
}

// TestNextInterval: the waits double from the first to the last and stay there (D8).
func TestNextInterval(t *testing.T) {
	want := process.FirstInterval
	for asked := range 100 {
		got := process.NextInterval(asked)
		if got != want {
			t.Fatalf("after %d questions %s, not %s", asked, got, want)
		}
		want = min(2*want, process.LastInterval)
	}
	if got := process.NextInterval(1 << 40); got != process.LastInterval {
		t.Errorf("after very many questions %s", got)
	}
}

// TestMayResend: sent again only while the payment timeout runs (D8).
func TestMayResend(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	const timeout = 90 * time.Second
	rows := map[time.Duration]bool{-time.Second: true, 0: true, timeout - 1: true, timeout: false, time.Hour: false}
	for after, want := range rows {
		if got := process.MayResend(at, at.Add(after), timeout); got != want {
			t.Errorf("%s after the request: %v", after, got)
		}
	}
}
