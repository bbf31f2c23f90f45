package payment_test

import (
	"fmt"
	"strings"
	"testing"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
)

// facts determine the status of an approved payment.
type facts struct {
	captured domain.Amount // confirmed, of 1250; 1500 out of band
	waiting  bool          // a capture is accepted and not confirmed
	final    bool          // a final capture is confirmed
	released bool          // a void has succeeded
}

// everyFacts lists the possible combinations: a final capture captures an amount, and no capture is
// open when all is captured.
func everyFacts() (list []facts) {
	for _, captured := range []domain.Amount{0, 500, 1250, 1500} {
		for bits := range 8 {
			f := facts{captured, bits&4 != 0, bits&2 != 0, bits&1 != 0}
			if f.final && captured == 0 || f.waiting && captured >= 1250 {
				continue
			}
			list = append(list, f)
		}
	}
	return list
}

// state returns a payment with the facts.
func (f facts) state() payment.State {
	ops := []payment.Operation{authorize(1, payment.StateSucceeded)}
	add := func(is bool, op payment.Operation) {
		if is {
			op.Revision = uint64(len(ops) + 1)
			ops = append(ops, op)
		}
	}
	add(f.captured > 0, payment.Operation{Kind: processor.Capture, Amount: f.captured, State: payment.StateSucceeded, Final: f.final})
	add(f.waiting, payment.Operation{Kind: processor.Capture, Amount: 250, State: payment.StatePending})
	add(f.released, payment.Operation{Kind: processor.Void, State: payment.StateSucceeded})
	return with(ops...)
}

// status is D7, sentence by sentence.
func (f facts) status() payment.Status {
	noMore := f.final || f.captured >= 1250 || f.released
	if f.waiting && !f.final {
		return payment.StatusSettling
	}
	if f.captured > 0 && !f.waiting && noMore {
		return payment.StatusSettled
	}
	if f.captured > 0 {
		return payment.StatusPartiallySettled
	}
	if f.released {
		return payment.StatusCancelled
	}
	return payment.StatusAuthorized
}

// authorizationStates are the rows of authorizations.
var authorizationStates = []struct {
	state  payment.OperationState
	status payment.Status
	means  string
}{
	{payment.StateRequested, payment.StatusPending, "the request is recorded"},
	{payment.StateUnknown, payment.StatusPending, "no answer within the payment timeout (D8)"},
	{payment.StatePending, payment.StatusPending, "the processor answers later"},
	{payment.StateAction, payment.StatusPending, "waits for the customer"},
	{payment.StateDeclined, payment.StatusDeclined, "the issuer declined"},
	{payment.StateFailed, payment.StatusFailed, "nothing was authorized"},
	{payment.StateVoided, payment.StatusCancelled, "voided before it had a result"},
	{payment.StateSucceeded, payment.StatusAuthorized, "the amount is held; see the next table"},
}

// TestTruthTable checks the status of every combination of facts (§3.1, D7).
func TestTruthTable(t *testing.T) {
	status(t, payment.State{}, payment.StatusPending)
	for _, row := range authorizationStates {
		status(t, with(authorize(1, row.state)), row.status)
		captured := row.status
		if row.state == payment.StateDeclined || row.state == payment.StateFailed || row.state == payment.StateVoided {
			captured = payment.StatusSettled
		}
		if row.state != payment.StateSucceeded {
			status(t, with(authorize(1, row.state), payment.Operation{Revision: 2, Kind: processor.Capture, Amount: 500, State: payment.StateSucceeded}), captured)
		}
	}
	for _, f := range everyFacts() {
		if nothing := f.status() == payment.StatusCancelled; f.state().EndedUnpaid() != nothing {
			t.Errorf("%s ended unpaid: %t", f.status(), !nothing)
		}
		if got := f.state().Status(); got != f.status() {
			t.Errorf("%+v: %s, not %s", f, got, f.status())
		}
	}
}

// held is the amount that is neither captured nor released.
func (f facts) held() domain.Amount {
	switch {
	case !f.released && !f.final:
		return max(0, 1250-f.captured)
	case f.waiting:
		return 250 // the processor may still confirm it
	default:
		return 0
	}
}

// TestHeld checks the held amount of every combination of facts.
func TestHeld(t *testing.T) {
	for _, row := range authorizationStates {
		want := domain.Amount(0)
		if row.state == payment.StateSucceeded {
			want = 1250
		}
		if got := with(authorize(1, row.state)).Held(); got != want {
			t.Errorf("%s: %d, not %d", row.state, got, want)
		}
	}
	for _, f := range everyFacts() {
		if got := f.state().Held(); got != f.held() {
			t.Errorf("%+v: %d, not %d", f, got, f.held())
		}
	}
}

// TestStatusOverlooks checks that requested and failed operations do not change the status.
func TestStatusOverlooks(t *testing.T) {
	for _, f := range everyFacts() {
		s := f.state()
		want := s.Status()
		for _, kind := range []processor.Kind{processor.Complete, processor.Capture, processor.Void, processor.Refund, processor.Adjust} {
			for _, state := range []payment.OperationState{payment.StateRequested, payment.StateUnknown, payment.StateFailed, payment.StateDeclined} {
				more := s
				more.Operations = append(s.Operations[:len(s.Operations):len(s.Operations)], job(9, kind, 5, state))
				status(t, more, want)
			}
		}
	}
}

// TestNothingIsCapturedAfterTheLast checks that no capture follows a final one or a void, whatever
// the status.
func TestNothingIsCapturedAfterTheLast(t *testing.T) {
	for _, f := range everyFacts() {
		_, err := payment.DecideCapture(f.state(), payment.Capture{Request: payment.Request{At: at}, Amount: new(domain.Amount(1))})
		open := f.status() == payment.StatusAuthorized || f.status() == payment.StatusPartiallySettled && !f.final
		if refused := domain.ReasonOf(err) == domain.ReasonInvalidPaymentStatus; refused == open {
			t.Errorf("%+v: %v", f, err)
		}
	}
}

// truthTable writes both tables for STATES.md.
func truthTable() string {
	var b strings.Builder
	b.WriteString("## The status by the facts (§3.1, D7)\n\nBy the newest authorize operation:\n\n")
	b.WriteString("| authorization | meaning | status |\n|---|---|---|\n| none | there is no payment | PENDING |\n")
	for _, row := range authorizationStates {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", row.state, row.means, with(authorize(1, row.state)).Status())
	}
	b.WriteString("\nDECLINED, FAILED and VOIDED are SETTLED if an amount is captured all the same, out of band (§6.3).\n")
	b.WriteString("\nBy the captures and voids of an authorized payment:\n\n")
	b.WriteString("| captured and confirmed | a capture accepted, not confirmed | a final capture confirmed | the rest released | status |\n|---|---|---|---|---|\n")
	word := map[domain.Amount]string{0: "nothing", 500: "a part", 1250: "all", 1500: "more than all"}
	yes := map[bool]string{true: "yes", false: "–"}
	for _, f := range everyFacts() {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", word[f.captured], yes[f.waiting], yes[f.final], yes[f.released], f.state().Status())
	}
	return b.String()
}
