package api_test

import (
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
