package payment_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
)

// TestSettledIsRefusedAfterTheProcessor checks that the cancel of a settled payment is tried at the
// processor, and refused then (D7).
func TestSettledIsRefusedAfterTheProcessor(t *testing.T) {
	s := situation{path: all + "; cancel"}.story(t)
	if s.state.VoidRefused() || (payment.State{}).VoidRefused() {
		t.Error("refused before the processor has answered")
	}
	s.given(t, "answer last FAILED code=already_captured")
	if !s.state.VoidRefused() {
		t.Error("the processor's refusal is not seen")
	}
	if err := s.state.CannotCancel(); domain.ReasonOf(err) != domain.ReasonInvalidPaymentStatus {
		t.Errorf("the caller gets %v", err)
	}
	s.given(t, "refund amount=1")
	if s.state.VoidRefused() {
		t.Error("a refund is taken for a void")
	}
}

// TestMetadataOfOperations checks that the metadata of captures and refunds is merged by key (D10),
// within a payment's limits (D4). Metadata beyond the limits is refused, and none of it is
// recorded.
func TestMetadataOfOperations(t *testing.T) {
	s := situation{path: strings.Replace(approved, "key=key-1", "metadata=a:first", 1)}.story(t)
	s.given(t, "capture amount=500 final=false metadata=b:second; answer last SUCCEEDED; refund amount=5 metadata=a:third; answer last SUCCEEDED")
	if d := cmp.Diff(domain.Metadata{"a": "third", "b": "second"}, s.state.Metadata); d != "" {
		t.Error(d)
	}
	much := domain.Metadata{}
	for i := range domain.MaxMetadataKeys - 1 {
		much[fmt.Sprintf("key-%d", i)] = true
	}
	r := payment.Request{At: at, EventID: "event"}
	for name, decide := range map[string]func(domain.Metadata) (payment.Event, error){
		"capture": func(m domain.Metadata) (payment.Event, error) {
			return payment.DecideCapture(s.state, payment.Capture{Request: r, Metadata: m})
		},
		"refund": func(m domain.Metadata) (payment.Event, error) {
			return payment.DecideRefund(s.state, payment.Refund{Request: r, Metadata: m})
		},
	} {
		if event, err := decide(much); event != nil || domain.ReasonOf(err) != domain.ReasonRequestValidation {
			t.Errorf("%s with a key too many in all: %v, %v", name, event, err)
		}
		if _, err := decide(domain.Metadata{"a": "fourth"}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRequestsLoseNothing checks that all fields of a later operation are in its event and in the
// payment.
func TestRequestsLoseNothing(t *testing.T) {
	r := payment.Request{At: at, EventID: "event", IdempotencyKey: "key-2"}
	hash := domain.KeyHash("acct", "key-2")
	settled := situation{path: all}.story(t).state
	event, err := payment.DecideRefund(settled, payment.Refund{
		Request: r, Amount: new(domain.Amount(5)), OrderID: "order-2", Reason: "damaged", TransactionEventID: "event-4",
		Metadata: domain.Metadata{"k": "v"},
	})
	want := payment.RefundRequested{
		At: at, Amount: 5, Capture: 3, OrderID: "order-2", Reason: "damaged", Metadata: domain.Metadata{"k": "v"}, KeyHash: hash,
	}
	if d := cmp.Diff(payment.Event(want), mustDecide(t, event, err)); d != "" {
		t.Error(d)
	}
	op := payment.Evolve(settled, want).Operations[2]
	if op.OrderID != "order-2" || op.Reason != "damaged" || op.Parent != 3 || op.Amount != 5 || op.TransactionID != "" {
		t.Errorf("the refund is %+v", op)
	}
	event, err = payment.DecideCancel(settled, payment.Cancel{Request: r, Reason: "changed"})
	if d := cmp.Diff(payment.Event(payment.VoidRequested{At: at, Reason: "changed", KeyHash: hash}), mustDecide(t, event, err)); d != "" {
		t.Error(d)
	}
	held := situation{path: approved}.story(t).state
	event, err = payment.DecideCapture(held, payment.Capture{Request: r, Amount: new(domain.Amount(9)), Final: true, Metadata: domain.Metadata{"k": "v"}})
	captured := payment.CaptureRequested{At: at, Amount: 9, Final: true, Metadata: domain.Metadata{"k": "v"}, KeyHash: hash}
	if d := cmp.Diff(payment.Event(captured), mustDecide(t, event, err)); d != "" {
		t.Error(d)
	}
	event, err = payment.DecideAdjust(held, payment.Adjust{Request: r, Amount: 9})
	if d := cmp.Diff(payment.Event(payment.AdjustmentRequested{At: at, Amount: 9, KeyHash: hash}), mustDecide(t, event, err)); d != "" {
		t.Error(d)
	}
}

// TestRefundRefusedBesideDispute checks that the dispute that forbids a refund comes after the used
// key and the status, and before the amount; nothing is recorded (D3, D22.2).
func TestRefundRefusedBesideDispute(t *testing.T) {
	disputed := []payment.Disputed{{ID: "01d", Text: "01d (DISPUTE LOST, 24.20 EUR)"}, {ID: "01e", Text: "01e (RETRIEVAL OPEN, 1.00 EUR)"}}
	much := domain.Amount(999_999)
	refund := func(path string, c payment.Refund) error {
		t.Helper()
		c.Request.At, c.Request.EventID = at, "event"
		event, err := payment.DecideRefund(situation{path: path}.story(t).state, c)
		if event != nil {
			t.Errorf("%+v records %T", c, event)
		}
		return err
	}
	for _, c := range []payment.Refund{
		{Disputed: disputed, RefuseDisputed: true}, {Disputed: disputed}, {Disputed: disputed, Amount: &much},
	} {
		err, is := errors.AsType[*domain.Error](refund(all, c))
		if !is || err.Reason != domain.ReasonInvalidPaymentStatus || !err.Disputed || !strings.Contains(err.Message, "01d (DISPUTE LOST, 24.20 EUR); 01e (RETRIEVAL OPEN, 1.00 EUR)") {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		if way := "leave refuse_disputed out"; strings.Contains(err.Recovery, way) != c.RefuseDisputed {
			t.Errorf("%+v: %s", c, err.Recovery)
		}
	}
	err, is := errors.AsType[*domain.Error](refund(approved, payment.Refund{Disputed: disputed}))
	if !is || err.Disputed || err.Reason != domain.ReasonInvalidPaymentStatus {
		t.Errorf("of a payment that is not captured: %v", err)
	}
}

// TestRepeatedCancellations: while an authorization is unknown, the cancellation is recorded once.
// A repeat without an idempotency key records nothing. A repeat with a key records only the key,
// within a limit (D7, D22.11).
func TestRepeatedCancellations(t *testing.T) {
	s := newStory()
	s.given(t, "create key=key-0 amount=1250 currency=EUR order=order-1 to=ADYEN; timeout 1; cancel reason=first")
	revision := s.state.Revision
	if s.given(t, "cancel"); s.state.Revision != revision {
		t.Errorf("a repeat is recorded at revision %d", s.state.Revision)
	}
	for i := 1; i < payment.MaxFailures; i++ {
		s.given(t, fmt.Sprintf("cancel reason=later key=key-%d", i))
	}
	revision = s.state.Revision
	for command, reason := range map[string]domain.Reason{
		"cancel key=one-more": domain.ReasonPaymentRequestLimit, "cancel key=key-5": domain.ReasonIdempotencyKeyExists,
	} {
		if _, err := s.do(t, command); domain.ReasonOf(err) != reason {
			t.Errorf("%s: %v", command, err)
		}
	}
	if s.given(t, "cancel"); s.state.Revision != revision {
		t.Errorf("recorded at revision %d", s.state.Revision)
	}
	if s.given(t, "answer 1 SUCCEEDED transaction=t-1"); s.state.Intent.Reason != "first" || s.state.NewestRequest().Kind != processor.Void {
		t.Errorf("%+v, %+v", s.state.Intent, s.state.NewestRequest())
	}
}
