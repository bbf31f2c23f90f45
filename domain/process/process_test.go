package process_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/process"
	"payledger/domain/processor"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// states are all that an operation can be in; true: the processor owes its result.
var states = map[payment.OperationState]bool{
	payment.StateRequested: true, payment.StateUnknown: true, payment.StatePending: true, payment.StateAction: false,
	payment.StateSucceeded: false, payment.StateDeclined: false, payment.StateFailed: false, payment.StateVoided: false,
}

// TestOpen checks that exactly the operations without an outcome are looked up, oldest first (D8).
func TestOpen(t *testing.T) {
	var s payment.State
	var want []uint64
	for state, owed := range states {
		revision := uint64(len(s.Operations) + 1)
		s.Operations = append(s.Operations, payment.Operation{Revision: revision, State: state})
		if owed {
			want = append(want, revision)
		}
	}
	var got []uint64
	for _, op := range process.Open(s) {
		got = append(got, op.Revision)
	}
	if !slices.Equal(got, want) {
		t.Errorf("asked about %v, not %v of %v", got, want, s.Operations)
	}
	if open := process.Open(payment.State{}); open != nil {
		t.Errorf("before creation %v is open", open)
	}
}

// TestRequested checks that the newest event's operation is sent; older ones are looked up.
func TestRequested(t *testing.T) {
	for state := range states {
		s := payment.State{Revision: 4, Operations: []payment.Operation{
			{Revision: 1, State: payment.StateRequested}, {Revision: 4, Kind: processor.Capture, State: state},
		}}
		op, found := process.Requested(s)
		if want := state == payment.StateRequested; found != want || found && op.Kind != processor.Capture {
			t.Errorf("%s: %v, %v", state, op, found)
		}
		s.Revision = 5
		if _, found := process.Requested(s); found {
			t.Errorf("%s: an older request is sent", state)
		}
	}
	if _, found := process.Requested(payment.State{}); found {
		t.Error("something is sent before creation")
	}
}

// TestAbandoned checks that an action without a customer's answer ends at the moment when its token
// expires (D7).
func TestAbandoned(t *testing.T) {
	waits := payment.State{
		Action:     &payment.Action{Name: "3DS_AUTHENTICATION", ExpiresAt: noon},
		Operations: []payment.Operation{{Revision: 1, Kind: processor.Authorize, State: payment.StateAction}},
	}
	for after, want := range map[time.Duration]bool{-time.Hour: false, -1: false, 0: true, time.Hour: true} {
		if got := process.Abandoned(waits, noon.Add(after)); got != want {
			t.Errorf("%s after the token expired: %v", after, got)
		}
	}
	for _, under := range []processor.Kind{processor.Complete, processor.Void} {
		s := waits
		s.Operations = append(slices.Clone(waits.Operations), payment.Operation{Revision: 2, Kind: under, State: payment.StateUnknown})
		if process.Abandoned(s, noon.Add(time.Hour)) {
			t.Errorf("abandoned while a %s is under way", under)
		}
	}
	if process.Abandoned(payment.State{}, noon) {
		t.Error("abandoned before creation")
	}
}

// TestOperation checks that the request has the recorded facts, and no card.
func TestOperation(t *testing.T) {
	s := payment.State{
		ID: "01payment", Currency: "EUR", Method: payment.Method{
			AuthorizationType: "ESTIMATED", PaymentType: "UNSCHEDULED", FirstPaymentReason: "Recurring", Descriptor: "SHOP",
		},
		Operations: []payment.Operation{
			{Revision: 1, Kind: processor.Authorize, Target: payment.Target{Processor: processor.Stripe, MerchantID: "m-1"}, Amount: 1250, TransactionID: "t-1"},
			{Revision: 3, Kind: processor.Capture, Target: payment.Target{Processor: processor.Stripe, MerchantID: "m-1"}, Amount: 500, Final: true, Parent: 1, TransactionID: "t-3"},
			{Revision: 5, Kind: processor.Refund, Target: payment.Target{Processor: processor.Stripe, MerchantID: "m-1"}, Amount: 200, Parent: 3},
			{Revision: 7, Kind: processor.Complete, Target: payment.Target{Processor: processor.Stripe, MerchantID: "m-1"}, Parent: 1, Outcome: processor.Authenticated},
		},
	}
	made := func(revision uint64) processor.Operation {
		op, _ := s.Operation(revision)
		return process.Operation(s, op)
	}
	at := processor.Operation{Processor: processor.Stripe, MerchantID: "m-1", Reference: "01payment", Currency: "EUR"}
	want := func(kind processor.Kind, key, parent string, amount int64, more func(*processor.Operation)) processor.Operation {
		op := at
		op.Kind, op.Key, op.ParentID, op.Amount = kind, domain.OperationKey(key), parent, domain.Amount(amount)
		more(&op)
		return op
	}
	rows := map[uint64]processor.Operation{
		1: want(processor.Authorize, "01payment.1", "", 1250, func(op *processor.Operation) {
			op.AuthorizationType, op.PaymentType, op.FirstPaymentReason, op.Descriptor = "ESTIMATED", "UNSCHEDULED", "Recurring", "SHOP"
		}),
		3: want(processor.Capture, "01payment.3", "t-1", 500, func(op *processor.Operation) { op.Final = true }),
		5: want(processor.Refund, "01payment.5", "t-3", 200, func(*processor.Operation) {}),
		7: want(processor.Complete, "01payment.7", "t-1", 0, func(op *processor.Operation) { op.Outcome = processor.Authenticated }),
	}
	for revision, want := range rows {
		if d := cmp.Diff(want, made(revision)); d != "" {
			t.Error(d)
		}
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

// TestAsked: as many look-ups as the intervals up to an age, and no more than there are until the
// last interval (D8).
func TestAsked(t *testing.T) {
	age := time.Duration(0)
	for asked := range 12 {
		for at, want := range map[time.Duration]int{age: asked, age + process.NextInterval(asked) - 1: asked} {
			if got := process.LookupsWithin(at); got != want {
				t.Fatalf("%d questions within %s, not %d", got, at, want)
			}
		}
		age += process.NextInterval(asked)
	}
	for _, at := range []time.Duration{age, age + time.Hour, 1 << 62} {
		if got := process.LookupsWithin(at); got != 12 || process.NextInterval(got) != process.LastInterval {
			t.Errorf("%d questions within %s", got, at)
		}
	}
	if got := process.LookupsWithin(-time.Hour); got != 0 {
		t.Errorf("%d questions before the request", got)
	}
}

// TestMayResend: sent again only while the payment timeout runs, and not when that is not known,
// because the clock was set back. The void of an intended cancellation and an automatic capture are
// sent again at any age (D8), also a capture that the failure of a void requested, and a void that
// delays an automatic capture.
func TestMayResend(t *testing.T) {
	const timeout = 90 * time.Second
	rows := map[time.Duration]bool{-25 * time.Hour: false, -timeout: false, -time.Second: true, 0: true, timeout - 1: true, timeout: false, time.Hour: false}
	for after, want := range rows {
		for _, kind := range []processor.Kind{processor.Authorize, processor.Capture, processor.Void, processor.Refund} {
			held := payment.Operation{Revision: 1, Kind: processor.Authorize, Answers: []payment.OperationAnswer{{At: noon.Add(-time.Second)}, {At: noon}}}
			op := payment.Operation{Revision: 3, Kind: kind, Parent: 1, RequestedAt: noon}
			s := payment.State{Operations: []payment.Operation{held, op}}
			promised := kind == processor.Capture || kind == processor.Void
			if got := process.MayResend(s, op, noon.Add(after), timeout); got != (want || promised) {
				t.Errorf("%s, requested by an answer, %s after the request: %v", kind, after, got)
			}
			op.RequestedAt = noon.Add(time.Second)
			void := payment.Operation{Revision: 2, Kind: processor.Void, Parent: 1, Answers: []payment.OperationAnswer{{At: op.RequestedAt}}}
			s.Operations = []payment.Operation{held, void, op}
			if got := process.MayResend(s, op, op.RequestedAt.Add(after), timeout); got != (want || kind == processor.Capture) {
				t.Errorf("%s, requested at the end of a void, %s after the request: %v", kind, after, got)
			}
			op.RequestedAt = noon.Add(time.Microsecond) // by a caller
			if got := process.MayResend(s, op, op.RequestedAt.Add(after), timeout); got != want {
				t.Errorf("%s %s after the request: %v", kind, after, got)
			}
			s.Operations, s.AutoCapture, s.Amount = []payment.Operation{held, op}, true, 1000
			if got := process.MayResend(s, op, op.RequestedAt.Add(after), timeout); got != (want || kind == processor.Void) {
				t.Errorf("%s of a payment to be captured, %s after the request: %v", kind, after, got)
			}
			s.Operations = append(s.Operations, payment.Operation{Revision: 2, Kind: processor.Capture, Parent: 1, State: payment.StateFailed})
			if got := process.MayResend(s, op, op.RequestedAt.Add(after), timeout); got != want {
				t.Errorf("%s after an automatic capture, %s after the request: %v", kind, after, got)
			}
		}
	}
}

// TestSuspectsOutOfBand checks that the books are read before each refusal of an operation on an
// authorization, and before each success that releases a rest, once; before no other answer (§6.3,
// D7).
func TestSuspectsOutOfBand(t *testing.T) {
	acts := []processor.Kind{processor.Capture, processor.Void, processor.Refund, processor.Adjust}
	for state, owed := range states {
		for _, kind := range append(acts, processor.Authorize, processor.Complete) {
			for _, answered := range []processor.State{processor.Succeeded, processor.Pending, processor.ActionRequired, processor.Failed, processor.Declined} {
				for _, amount := range []domain.Amount{400, 500} {
					refused := answered == processor.Failed || answered == processor.Declined
					releases := answered == processor.Succeeded && (kind == processor.Void || kind == processor.Capture && amount == 400)
					want := owed && slices.Contains(acts, kind) && (refused || releases)
					want = want || state == payment.StateAction && releases
					s := payment.State{Amount: 1000, Operations: []payment.Operation{
						{Revision: 1, Kind: processor.Capture, State: payment.StateSucceeded, Amount: 500},
						{Revision: 2, Kind: kind, State: state, Amount: amount, Final: true},
					}}
					if got := process.SuspectsOutOfBand(s, 2, processor.Answer{State: answered}); got != want {
						t.Errorf("%s of %d in state %s, answered %s: %v", kind, amount, state, answered, got)
					}
				}
			}
		}
	}
}
