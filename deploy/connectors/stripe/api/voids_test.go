package api_test

import (
	"testing"

	"payledger/deploy/connectors/stripe/double"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

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
