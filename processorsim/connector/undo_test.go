package connector

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// TestUndo: an authorization whose outcome a vendor cannot tell is undone. From then on its success
// is no result, its card is not sent again under the same key, and "nothing" counts only before the
// vendor told a success.
func TestUndo(t *testing.T) {
	for _, arrives := range []bool{false, true} {
		r := newRig(t, time.Hour)
		r.vendor.blind = true
		op := authorization("01p.1", "4242424242424242")
		if r.vendor.next = lostBefore; arrives {
			r.vendor.next = lostAfter
		}
		if _, err := r.k.Send(t.Context(), op); err == nil {
			t.Fatal("an answer")
		}
		if l := r.lookup(op.Key); l.State != processor.Running {
			t.Fatalf("a request may be on its way: %+v", l)
		}
		r.now = r.now.Add(2 * time.Minute)
		if l := r.fence(op.Key); l.State != processor.Running {
			t.Fatalf("while it is undone: %+v", l)
		}
		told := slices.Clone(r.vendor.told)
		if _, err := r.k.Send(t.Context(), op); err == nil || r.vendor.calls != 1 {
			t.Fatalf("%v after %d calls", err, r.vendor.calls)
		}
		if !arrives {
			r.event(200, told...)
			if l := r.lookup(op.Key); l.State != processor.Unseen {
				t.Fatalf("after nothing: %+v", l)
			}
			if a := r.sent(op); a.State != processor.Succeeded {
				t.Errorf("again: %+v", a)
			}
			r.event(200, told...) // about the key that was used up
			if l := r.lookup(op.Key); l.State != processor.Known || l.Answer.State != processor.Succeeded {
				t.Errorf("after an old message: %+v", l)
			}
			continue
		}
		nothing := told[0]
		nothing.Result, nothing.Nothing = nil, true
		r.event(200, told[0], nothing) // the success is too late, and shows that "nothing" is wrong
		if l := r.lookup(op.Key); l.State != processor.Running {
			t.Fatalf("after a late success: %+v", l)
		}
		if o, err := r.k.book.Find(t.Context(), op.Key); err != nil || o.Answer == nil || o.Answer.ProcessorTransactionID != "tx_1" {
			t.Errorf("the vendor cannot name it: %+v %v", o, err)
		}
		r.close()
		r.open()
		r.event(200, told[1])
		if l := r.lookup(op.Key); l.State != processor.Known || l.Answer.Code != protocol.CodeVoided {
			t.Errorf("after it is undone: %+v", l)
		}
		r.event(200, told...)
		if a := r.sent(op); a.State != processor.Failed || a.Code != protocol.CodeVoided {
			t.Errorf("a repeat: %+v", a)
		}
	}
}

// TestUndoneNothing: a vendor said that it did nothing, and tells a success under that key before
// the next try. The success counts, so the vendor is not called again. The message may say what
// comes later, too. Behind a fence the success does not count.
func TestUndoneNothing(t *testing.T) {
	for _, row := range []struct {
		told  processor.State
		fence bool
		want  processor.LookupState
	}{{processor.Succeeded, false, processor.Known}, {processor.Pending, false, processor.Known}, {processor.Succeeded, true, processor.Fenced}} {
		r := newRig(t, time.Hour)
		r.vendor.blind, r.vendor.next = true, lostAfter
		op := authorization("01p.1", "4242424242424242")
		if _, err := r.k.Send(t.Context(), op); err == nil {
			t.Fatal("an answer")
		}
		success := r.vendor.told[0]
		nothing := success
		nothing.Result, nothing.Nothing = nil, true
		r.event(200, nothing)
		if l := r.lookup(op.Key); l.State != processor.Unseen {
			t.Fatalf("after nothing: %+v", l)
		}
		if row.fence {
			r.fence(op.Key)
		}
		first := *success.Result
		first.Answer.State = row.told
		told := success
		told.Result = &first
		r.event(200, told)
		if l := r.lookup(op.Key); l.State != row.want || l.Answer != nil && l.Answer.State != row.told {
			t.Errorf("%+v: %+v", row, l)
		}
		if o, err := r.k.book.Find(t.Context(), op.Key); err != nil || !row.fence && !o.Began.Equal(o.CreatedAt) {
			t.Errorf("%+v: its key counts as used from %s on, %v", row, o.Began, err)
		}
		if row.fence {
			continue
		}
		r.close()
		r.open()
		r.event(200, success)
		if a := r.sent(op); a.State != processor.Succeeded || a.ProcessorTransactionID != "tx_1" || r.vendor.calls != 1 {
			t.Errorf("%+v: %+v after %d calls", row, a, r.vendor.calls)
		}
	}
}

// TestTag: a message finds its operation by the payment and the tag, before the vendor's answer is
// recorded. A message that names an unknown transaction waits while one is in doubt.
func TestTag(t *testing.T) {
	r := newRig(t, time.Hour)
	op := following(processor.Capture, "01p.1", "tx_0", 100)
	r.vendor.next = lostAfter
	if _, err := r.k.Send(t.Context(), op); err == nil {
		t.Fatal("an answer")
	}
	_, done := r.vendor.count(op.Key)
	o, err := r.k.book.Find(t.Context(), op.Key)
	must(t, err)
	elsewhere := Event{ID: "e1", Kind: processor.Capture, Reference: "01p", TransactionID: "tx_1", Result: &done}
	r.event(503, elsewhere)
	refund := elsewhere
	refund.Kind = processor.Refund
	r.event(200, refund) // no refund is in doubt
	named := elsewhere
	named.ID, named.Tag = "e2", tag(vendorKey(o))
	r.event(200, named)
	if l, _, err := r.k.state(t.Context(), op.Key); err != nil || l.State != processor.Known || l.Answer.ProcessorTransactionID != "tx_1" {
		t.Errorf("%+v %v", l, err)
	}
	r.event(200, elsewhere)
	if again := (Order{Key: vendorKey(o) + "-12"}).Tag(); len(again) > 14 || again != named.Tag+"-12" {
		t.Errorf("the tag of the next key is %q", again)
	}
}

// TestTagOfAnother: a message that names an operation by its transaction may have the tag of
// another operation of the payment. A tag of a used-up key of the same operation is refused.
func TestTagOfAnother(t *testing.T) {
	r := newRig(t, time.Hour)
	sale := authorization("01p.1", "4242424242424242")
	approved := r.sent(sale)
	capture := following(processor.Capture, "01p.2", approved.ProcessorTransactionID, 100)
	r.vendor.pends = processor.Capture
	if a := r.sent(capture); a.State != processor.Pending {
		t.Fatalf("%+v", a)
	}
	of, err := r.k.book.Find(t.Context(), sale.Key)
	must(t, err)
	own, err := r.k.book.Find(t.Context(), capture.Key)
	must(t, err)
	_, done := r.vendor.count(capture.Key)
	done.Answer.State = processor.Succeeded
	e := Event{ID: "e1", Kind: processor.Capture, Reference: "01p", Tag: tag(vendorKey(own)) + "-1", TransactionID: done.Answer.ProcessorTransactionID, Result: &done}
	r.event(200, e)
	if l, _, err := r.k.state(t.Context(), capture.Key); err != nil || l.Answer.State != processor.Pending {
		t.Fatalf("by a key that is not its own: %+v %v", l, err)
	}
	e.Tag = tag(vendorKey(of))
	r.event(200, e)
	if l, _, err := r.k.state(t.Context(), capture.Key); err != nil || l.Answer.State != processor.Succeeded {
		t.Errorf("%+v %v", l, err)
	}
}

// TestDisputeEarly: a dispute that overtakes the answer of its capture comes again; a dispute about
// an unknown transaction is about the authorization that it names.
func TestDisputeEarly(t *testing.T) {
	r := newRig(t, time.Hour)
	sale := authorization("01p.1", "4242424242424242")
	approved := r.sent(sale)
	capture := following(processor.Capture, "01p.2", approved.ProcessorTransactionID, 100)
	r.vendor.next = lostAfter
	if _, err := r.k.Send(t.Context(), capture); err == nil {
		t.Fatal("an answer")
	}
	o, err := r.k.book.Find(t.Context(), sale.Key)
	must(t, err)
	e := Event{ID: "e1", Reference: "01p", Tag: tag(vendorKey(o)), Dispute: &processor.DisputeUpdate{
		ID: "dp_1", TransactionID: "tx_2", Type: processor.Chargeback, Status: processor.DisputeOpen, Amount: 100, Currency: "EUR", At: r.now,
	}}
	r.event(503, e)
	r.sent(capture)
	r.event(200, e)
	other := e
	other.ID, other.Dispute = "e2", &processor.DisputeUpdate{
		ID: "dp_2", TransactionID: "made elsewhere", Type: processor.Chargeback, Status: processor.DisputeOpen, Amount: 100, Currency: "EUR", At: r.now,
	}
	r.event(200, other)
	list, err := r.k.Disputes(t.Context(), protocol.DisputeFilter{Reference: "01p"})
	must(t, err)
	for i, want := range []string{"tx_2", "tx_1"} {
		if len(list.Notifications) != 2 || !bytes.Contains(list.Notifications[i], []byte(`"processorTransactionId":"`+want+`"`)) {
			t.Fatalf("%s", list.Notifications)
		}
	}
}

// TestDisputeWithoutTransaction: a dispute that names no transaction is about the operation that
// its reference and tag name. It never belongs to an operation that has no transaction: a refused
// operation of another payment, an operation in doubt, or a refused operation that it names.
func TestDisputeWithoutTransaction(t *testing.T) {
	r := newRig(t, time.Hour)
	other := following(processor.Capture, "01q.1", "tx_0", 100)
	other.Reference = "01q"
	r.vendor.refuses = &processor.Answer{State: processor.Failed, Code: "no"}
	r.sent(other)
	declined := authorization("01p.3", "4000000000000002")
	r.sent(declined)
	r.vendor.refuses = nil
	sale := authorization("01p.1", "4242424242424242")
	r.vendor.next = lostAfter
	if _, err := r.k.Send(t.Context(), sale); err == nil {
		t.Fatal("an answer")
	}
	about := func(id string, key domain.OperationKey) Event {
		o, err := r.k.book.Find(t.Context(), key)
		must(t, err)
		return Event{ID: id, Reference: o.Reference, Tag: tag(vendorKey(o)), Dispute: &processor.DisputeUpdate{
			ID: "dp_" + id, Type: processor.Chargeback, Status: processor.DisputeOpen, Amount: 100, Currency: "EUR", At: r.now,
		}}
	}
	r.event(503, about("e1", sale.Key))
	r.sent(sale)
	r.event(200, about("e1", sale.Key), about("e2", declined.Key))
	capture := following(processor.Capture, "01p.2", "tx_1", 100)
	r.sent(capture)
	r.event(200, about("e3", capture.Key), Event{ID: "e4", Dispute: about("e4", sale.Key).Dispute})
	for reference, want := range map[domain.PaymentID][]string{"01p": {"tx_1", "tx_2"}, "01q": nil} {
		list, err := r.k.Disputes(t.Context(), protocol.DisputeFilter{Reference: reference})
		if must(t, err); len(list.Notifications) != len(want) {
			t.Fatalf("%s: %s", reference, list.Notifications)
		}
		for i, transaction := range want {
			if !bytes.Contains(list.Notifications[i], []byte(`"processorTransactionId":"`+transaction+`"`)) {
				t.Errorf("%s", list.Notifications)
			}
		}
	}
}

// TestOverturned: a failure after a success is notified and shown by look-ups and lists, if the
// vendor says that it overturns the success. A repeat has the first answer.
func TestOverturned(t *testing.T) {
	r := newRig(t, time.Hour)
	op := following(processor.Capture, "01p.1", "tx_0", 100)
	first := r.sent(op)
	_, done := r.vendor.count(op.Key)
	done.Answer.State, done.Answer.Code = processor.Failed, "returned"
	e := Event{ID: "e1", Key: op.Key, Kind: processor.Capture, Result: &done}
	r.event(200, e)
	if l := r.lookup(op.Key); l.Answer.State != processor.Succeeded {
		t.Errorf("a contradiction: %+v", l.Answer)
	}
	e.Overturns, done.Answer.ProcessorTransactionID = true, "tx_return"
	r.event(200, e, e)
	if o, err := r.k.book.ByTransaction(t.Context(), first.ProcessorTransactionID, processor.Capture); err != nil || o == nil {
		t.Errorf("the capture is not found by its transaction any more: %v", err)
	}
	if l := r.lookup(op.Key); l.Answer.State != processor.Failed || l.Answer.Code != "returned" {
		t.Errorf("%+v", l.Answer)
	}
	list, err := r.entries(protocol.Filter{Reference: "01p"})
	if must(t, err); len(list) != 1 || list[0].State != processor.Failed || list[0].Answer.State != processor.Failed || list[0].ProcessorTransactionID == "" {
		t.Errorf("%+v", list)
	}
	if a := r.sent(op); !reflect.DeepEqual(a, first) {
		t.Errorf("a repeat: %+v", a)
	}
	left, err := r.k.book.Undelivered(t.Context())
	if must(t, err); len(left) != 1 {
		t.Errorf("%d notifications", len(left))
	}
}

// TestDoneAgain: a success after a failure that overturned a success counts. Repeats of the
// messages before it change nothing. The vendor's times decide, in whatever order the messages
// come, also after a restart. Without a time (0) a failure counts, and a success does not end it.
func TestDoneAgain(t *testing.T) {
	const succeeded, failed = processor.Succeeded, processor.Failed
	type step struct {
		told  processor.State
		hours int // the vendor's time
		want  processor.State
	}
	for name, steps := range map[string][]step{
		"in order":                    {{succeeded, 1, succeeded}, {failed, 2, failed}, {succeeded, 1, failed}, {succeeded, 3, succeeded}, {failed, 2, succeeded}, {succeeded, 1, succeeded}, {failed, 4, failed}},
		"the failure last":            {{succeeded, 1, succeeded}, {succeeded, 3, succeeded}, {failed, 2, succeeded}, {succeeded, 1, succeeded}, {failed, 2, succeeded}, {failed, 4, failed}},
		"twice, the failures last":    {{succeeded, 1, succeeded}, {failed, 2, failed}, {succeeded, 3, succeeded}, {succeeded, 5, succeeded}, {failed, 4, succeeded}, {failed, 6, failed}},
		"a failure of the same time":  {{succeeded, 1, succeeded}, {succeeded, 3, succeeded}, {failed, 3, failed}, {succeeded, 3, failed}},
		"without times":               {{succeeded, 0, succeeded}, {failed, 0, failed}, {succeeded, 0, failed}},
		"a failure without a time":    {{succeeded, 1, succeeded}, {succeeded, 3, succeeded}, {failed, 0, failed}, {succeeded, 3, failed}},
		"a repeat without a time":     {{succeeded, 1, succeeded}, {succeeded, 0, succeeded}, {failed, 2, failed}},
		"a success of another amount": {{succeeded, 1, succeeded}, {"other", 3, succeeded}, {failed, 2, failed}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, time.Hour)
			op := following(processor.Capture, "01p.1", "tx_0", 100)
			r.sent(op)
			_, made := r.vendor.count(op.Key)
			made.Answer.At = time.Time{}
			begun := r.now
			r.now = begun.Add(10 * time.Hour)
			for i, step := range steps {
				result := made
				switch step.told {
				case failed:
					result.Answer.State, result.Answer.Code = failed, "returned"
				case "other":
					result.Amount++
				}
				if step.hours > 0 {
					result.Answer.At = begun.Add(time.Duration(step.hours) * time.Hour)
				}
				r.event(200, Event{ID: fmt.Sprintf("e%d", i), Key: op.Key, Kind: processor.Capture, Result: &result, Overturns: step.told == failed})
				r.close()
				r.open()
				if l := r.lookup(op.Key); l.Answer == nil || l.Answer.State != step.want {
					t.Errorf("step %d: %+v, want %s", i, l.Answer, step.want)
				}
			}
		})
	}
}

// TestDoubt: the vendor learns that an earlier try has an unknown outcome.
func TestDoubt(t *testing.T) {
	r := newRig(t, time.Hour)
	op := following(processor.Capture, "01p.1", "tx_0", 100)
	for _, how := range []mode{refused, lostBefore, refused} {
		r.vendor.next = how
		if _, err := r.k.Send(t.Context(), op); err == nil {
			t.Fatal("an answer")
		}
	}
	r.sent(op)
	if want := []bool{false, false, true, true}; !slices.Equal(r.vendor.doubts, want) {
		t.Errorf("%v instead of %v", r.vendor.doubts, want)
	}
}
