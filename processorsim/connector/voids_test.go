package connector

import (
	"testing"
	"time"

	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// TestVoidOvertaken: a pending authorization that a void ends is voided, also if the vendor's
// message says only that it failed, before the void has its answer. Another failure keeps its code.
func TestVoidOvertaken(t *testing.T) {
	r := newRig(t, time.Hour)
	failed := processor.Answer{State: processor.Failed, Code: "gateway_rejected", At: r.now}
	for _, void := range []bool{true, false} {
		op := authorization(map[bool]string{true: "01p.1", false: "01p.2"}[void], "4000000000003220")
		pending := r.sent(op)
		if void {
			r.vendor.next = lostAfter
			if _, err := r.k.Send(t.Context(), following(processor.Void, "01p.3", pending.ProcessorTransactionID, 0)); err == nil {
				t.Fatal("an answer")
			}
		}
		result := r.vendor.ends(op.Key, failed)
		r.event(200, Event{ID: "e" + string(op.Key), Key: op.Key, Result: &result})
		if l := r.lookup(op.Key); (l.Answer.Code == protocol.CodeVoided) != void || l.Answer.State != processor.Failed {
			t.Errorf("void %t: %+v", void, l.Answer)
		}
	}
	if l := r.lookup("01p.3"); l.State != processor.Known || l.Answer.State != processor.Succeeded {
		t.Errorf("the void: %+v", l)
	}
}
