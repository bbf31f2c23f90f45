package api_test

import (
	"errors"
	"testing"
	"time"

	"payledger/deploy/connectors/stripe/double"
	"payledger/domain/processor"
	"payledger/processorsim/connector"
	"payledger/processorsim/protocol"
)

// TestVoidOfRest: after a capture of a part the void of the rest leaves a PaymentIntent that has
// succeeded. The void is found all the same when its answer was lost, and another one is refused.
func TestVoidOfRest(t *testing.T) {
	r := newRig(t)
	sale := authorization("4242424242424242")
	approved := r.send(sale)
	part := upon(sale, approved, processor.Capture)
	part.Amount = 400
	r.send(part)
	first := upon(sale, approved, processor.Void)
	if found := must[connector.Finding](t)(r.vendor.Find(t.Context(), first)); found.Result != nil {
		t.Errorf("before the void: %+v", found.Result)
	}
	lost := upon(sale, approved, processor.Void)
	r.double.Order(&double.Fault{Mode: double.LostAfter, Path: "/cancel"})
	if result, err := r.vendor.Send(t.Context(), lost); err == nil {
		t.Fatalf("%+v", result)
	}
	r.clock.Advance(26 * time.Hour) // Stripe does not know the key any more
	if found := must[connector.Finding](t)(r.vendor.Find(t.Context(), lost)); found.Result == nil || found.Result.Answer.State != processor.Succeeded {
		t.Errorf("%+v", found)
	}
	if again := r.send(upon(sale, approved, processor.Void)); again.Answer.State != processor.Failed || again.Answer.Code != protocol.CodeAlreadyVoided {
		t.Errorf("%+v", again)
	}
}

// TestVoidToldFirst: the event of a cancelled PaymentIntent ends the authorization before the
// answer to the void is known. The void has succeeded all the same; another one is refused.
func TestVoidToldFirst(t *testing.T) {
	r := newRig(t)
	op := authorization("4000000000003220").Operation
	waits := r.do(op)
	void := order(processor.Void, waits.ProcessorTransactionID).Operation
	void.Amount = 0
	r.double.Order(&double.Fault{Mode: double.LostAfter, Path: "/cancel"})
	if a, err := r.kit.Send(t.Context(), void); err == nil {
		t.Fatalf("%+v", a)
	}
	r.deliver()
	if l, err := r.kit.Lookup(t.Context(), processor.Stripe, op.Key); err != nil || l.Answer == nil || l.Answer.Code != protocol.CodeVoided {
		t.Fatalf("%+v %v", l, err)
	}
	if l, err := r.kit.Lookup(t.Context(), processor.Stripe, void.Key); err != nil || l.Answer == nil || l.Answer.State != processor.Succeeded {
		t.Errorf("%+v %v", l.Answer, err)
	}
	again := order(processor.Void, waits.ProcessorTransactionID).Operation
	again.Amount = 0
	if a := r.do(again); a.State != processor.Failed || a.Code != protocol.CodeAlreadyVoided {
		t.Errorf("%+v", a)
	}
}

// TestVoidNotDecided: a fault of Stripe, the key or the network is no refusal of a void, after
// which the ledger captures (D5.8). The outcome is unknown, or the failure is retryable.
func TestVoidNotDecided(t *testing.T) {
	processing := func(any) any {
		return map[string]any{"error": map[string]any{
			"type": "invalid_request_error", "code": "payment_intent_unexpected_state", "payment_intent": map[string]any{"object": "payment_intent", "status": "processing"},
		}}
	}
	r := newRig(t)
	sale := authorization("4242424242424242")
	approved := r.send(sale)
	for _, fault := range []double.Fault{{Mode: double.RateLimited}, {Mode: double.Unavailable}, {Mode: double.Fails}, {Mode: double.LostBefore}} {
		fault.Path = "/cancel"
		r.double.Order(&fault)
		result, err := r.vendor.Send(t.Context(), upon(sale, approved, processor.Void))
		if nothing := fault.Mode == double.RateLimited; err == nil || errors.Is(err, connector.ErrNothing) != nothing {
			t.Errorf("%s: %+v, %v", fault.Mode, result, err)
		}
	}
	for _, fault := range []double.Fault{{Mode: double.Missing}, {Mode: double.Forbidden}, {Mode: double.Refused}, {Mode: double.Refused, Change: processing}} {
		fault.Path = "/cancel"
		r.double.Order(&fault)
		if a := r.send(upon(sale, approved, processor.Void)).Answer; a.State != processor.Failed || !a.Retryable {
			t.Errorf("%s: %+v", fault.Mode, a)
		}
	}
	r.send(upon(sale, approved, processor.Capture))
	if a := r.send(upon(sale, approved, processor.Void)).Answer; a.Code != protocol.CodeAlreadyCaptured || a.Retryable {
		t.Errorf("%+v", a)
	}
}
