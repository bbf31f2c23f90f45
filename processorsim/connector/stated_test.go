package connector

import (
	"encoding/json"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// states checks what an answer says that it is about.
func states(t *testing.T, where string, op processor.Operation, a processor.Answer) {
	t.Helper()
	if a.Kind != op.Kind || a.Reference != op.Reference {
		t.Errorf("%s of %s: it is about %s of %q", where, op.Key, a.Kind, a.Reference)
	}
	moves := op.Kind != processor.Complete && op.Kind != processor.Void && a.State != processor.Failed && a.State != processor.Declined
	if moves && (a.Amount == nil || *a.Amount != op.Amount || a.Currency != op.Currency) || !moves && (a.Amount != nil || a.Currency != "") {
		t.Errorf("%s of %s %s: it is about %v %q", where, op.Kind, a.State, a.Amount, a.Currency)
	}
	if why := op.Unfit(a); why != "" {
		t.Errorf("%s of %s: %s", where, op.Key, why)
	}
}

// TestStated: each answer, look-up, list and notification states its operation, also after a
// restart, and for an authorization that another operation ended.
func TestStated(t *testing.T) {
	r := newRig(t, time.Hour)
	adjusted := following(processor.Adjust, "01p.8", "tx_1", 2000)
	declined, pending, waiting := authorization("01p.5", "4000000000000002"), authorization("01p.6", "4000000000003220"), authorization("01p.3", "4916994064252017")
	all := []processor.Operation{
		authorization("01p.1", "4242424242424242"), following(processor.Capture, "01p.2", "tx_1", 700), waiting,
		following(processor.Complete, "01p.4", "tx_3", 0), declined, pending, following(processor.Refund, "01p.7", "tx_2", 300), adjusted,
		following(processor.Void, "01p.9", "tx_1", 0),
	}
	byKey := map[domain.OperationKey]processor.Operation{}
	for _, op := range all {
		byKey[op.Key] = op
		states(t, "the answer", op, r.sent(op))
	}
	ended := r.vendor.ends(pending.Key, processor.Answer{State: processor.Succeeded, At: r.now})
	r.event(200, Event{ID: "e1", Key: pending.Key, Result: &ended})
	ids, err := r.k.book.Undelivered(t.Context())
	if must(t, err); len(ids) != 1 {
		t.Fatalf("%d notifications", len(ids))
	}
	notice, err := r.k.book.Notice(t.Context(), ids[0])
	must(t, err)
	var told processor.Notification
	must(t, json.Unmarshal(notice.Body, &told))
	states(t, "the notification", pending, *told.Answer)
	for range 2 {
		for _, op := range all {
			states(t, "the repeat", op, r.sent(op))
			states(t, "the look-up", op, *r.lookup(op.Key).Answer)
		}
		list, err := r.entries(protocol.Filter{})
		if must(t, err); len(list) != len(all) {
			t.Errorf("%d operations", len(list))
		}
		for _, e := range list {
			states(t, "the list", byKey[e.IdempotencyKey], e.Answer)
		}
		r.close()
		r.open()
	}
	if l := r.lookup(waiting.Key); l.Answer.State != processor.Succeeded {
		t.Errorf("%+v", l.Answer)
	}
}

// TestKeyReused: a key with other contents is refused whatever has become of its operation, also
// after a restart, and changes nothing.
func TestKeyReused(t *testing.T) {
	first := following(processor.Capture, "01p.9", "tx_1", 700)
	others := map[string]func(*processor.Operation){
		"operation": func(o *processor.Operation) { o.Kind = processor.Refund },
		"void":      func(o *processor.Operation) { o.Kind, o.Amount = processor.Void, 0 },
		"amount":    func(o *processor.Operation) { o.Amount = 200 },
		"currency":  func(o *processor.Operation) { o.Currency = "USD" },
		"payment":   func(o *processor.Operation) { o.Reference = "01q" },
		"parent":    func(o *processor.Operation) { o.ParentID = "tx_2" },
		"final":     func(o *processor.Operation) { o.Final = true },
	}
	for name, prepare := range map[string]func(*rig){
		"done":    func(r *rig) { r.sent(first) },
		"unknown": func(r *rig) { r.vendor.next = lostAfter },
		"nothing": func(r *rig) { r.vendor.next = refused },
		"refused": func(r *rig) { r.vendor.refuses = &processor.Answer{State: processor.Failed, Code: "no"} },
	} {
		r := newRig(t, time.Hour)
		prepare(r)
		_, _ = r.k.Send(t.Context(), first)
		r.vendor.refuses = nil
		before := r.vendor.calls
		for range 2 {
			for what, change := range others {
				op := first
				change(&op)
				if a, err := r.k.Send(t.Context(), op); err != protocol.ErrKeyReused { //nolint:errorlint // exactly this one
					t.Errorf("%s, another %s: %+v %v", name, what, a, err)
				}
			}
			r.close()
			r.open()
		}
		if r.vendor.calls != before {
			t.Errorf("%s: the vendor got %d calls", name, r.vendor.calls-before)
		}
	}
	r := newRig(t, time.Hour)
	for _, kind := range []processor.Kind{processor.Complete, processor.Void} {
		waits := r.sent(authorization("01p.w"+string(kind), "4916994064252017"))
		op := following(kind, "01p.x"+string(kind), waits.ProcessorTransactionID, 0)
		r.sent(op)
		other := op
		if other.Outcome = processor.AuthenticationFailed; kind == processor.Void {
			other.Kind = processor.Complete
		}
		if a, err := r.k.Send(t.Context(), other); err != protocol.ErrKeyReused { //nolint:errorlint // exactly this one
			t.Errorf("%s: %+v %v", kind, a, err)
		}
	}
}
