package connector

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// TestListDuringSend: a list waits for an operation that runs at the vendor, until its context
// ends. A list of an earlier time does not wait.
func TestListDuringSend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, time.Hour)
		r.k.Vendor = lister{r.vendor, nil, new([]string)}
		r.vendor.entered, r.vendor.goOn = make(chan struct{}), make(chan struct{})
		send := func(key string) (answered chan error) {
			answered = make(chan error, 1)
			go func() {
				_, err := r.k.Send(context.Background(), authorization(key, "4242424242424242"))
				answered <- err
			}()
			<-r.vendor.entered
			return answered
		}
		first := send("01p.1")
		if list, err := r.entries(protocol.Filter{To: r.now.Add(-time.Hour)}); err != nil || len(list) != 0 {
			t.Errorf("an hour ago: %+v %v", list, err)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := r.k.Entries(ended, protocol.Filter{}, func(protocol.Entry) error { return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("a list whose context has ended: %v", err)
		}
		for _, f := range []protocol.Filter{{}, {Reference: "01p"}} {
			var list []protocol.Entry
			var err error
			listed := false
			go func() { list, err = r.entries(f); listed = true }()
			synctest.Wait()
			if listed {
				t.Fatalf("%+v: the list does not wait: %+v %v", f, list, err)
			}
			second := send("01p.2" + string(f.Reference))
			r.vendor.goOn <- struct{}{} // either of the two
			r.vendor.goOn <- struct{}{}
			must(t, <-first)
			must(t, <-second)
			synctest.Wait()
			if !listed || err != nil || len(list) == 0 || list[0].State != processor.Succeeded {
				t.Errorf("%+v: listed %t, %+v %v", f, listed, list, err)
			}
			first = send("01p.3" + string(f.Reference))
		}
		r.vendor.goOn <- struct{}{}
		must(t, <-first)
	})
}

// TestListEnds: a list ends although operations come as fast as it is read.
func TestListEnds(t *testing.T) {
	r := newRig(t, time.Hour)
	const before = 256 // a page of the book
	send := func(n int) { r.sent(authorization(fmt.Sprintf("01p.%d", n), "4242424242424242")) }
	for n := range before {
		send(n)
	}
	listed := 0
	must(t, r.k.Entries(t.Context(), protocol.Filter{}, func(protocol.Entry) error {
		if listed++; listed > before {
			return errors.New("the list does not end")
		}
		send(before + listed)
		return nil
	}))
}

// TestRefundElsewhere: a refund may act upon a capture of its payment that only the vendor lists.
// While the vendor has no list, the refund has no outcome, and is not sent.
func TestRefundElsewhere(t *testing.T) {
	r := newRig(t, time.Hour)
	entry := func(id, reference string) protocol.Entry {
		return protocol.Entry{Line: protocol.Line{
			ID: id, Reference: domain.PaymentID(reference), Operation: processor.Capture, Amount: 300, Currency: "EUR", State: processor.Succeeded, CreatedAt: r.now,
			ParentID: "tx_1", ProcessorTransactionID: id,
		}, Answer: processor.Answer{State: processor.Succeeded, ProcessorTransactionID: id, At: r.now}}
	}
	vendor := lister{r.vendor, []protocol.Entry{entry("c_1", "01p"), entry("c_2", "01q")}, new([]string)}
	r.k.Vendor = vendor
	r.sent(authorization("01p.1", "4242424242424242"))
	r.sent(following(processor.Refund, "01p.2", "c_1", 200))
	if p := r.vendor.order.Parent; p == nil || p.Kind != processor.Capture || p.ParentID != "tx_1" || p.Amount != 300 || p.Answer.State != processor.Succeeded {
		t.Errorf("%+v", p)
	}
	for i, parent := range []string{"c_2", "c_3"} {
		if r.sent(following(processor.Refund, fmt.Sprintf("01p.%d", 3+i), parent, 200)); r.vendor.order.Parent != nil {
			t.Errorf("%s: %+v", parent, r.vendor.order.Parent)
		}
	}
	calls := r.vendor.calls
	r.vendor.cannot = []protocol.Lack{{Capability: protocol.CanRefundPartly, Instead: "Refund all of it."}}
	if a := r.sent(following(processor.Refund, "01p.6", "c_1", 200)); a.Code != protocol.CodeNotSupported || r.vendor.calls != calls {
		t.Errorf("a partial refund that the vendor cannot make: %+v after %d calls", a, r.vendor.calls-calls)
	}
	if a := r.sent(following(processor.Refund, "01p.7", "tx_1", 200)); a.Code != protocol.CodeNotSupported || r.vendor.calls != calls {
		t.Errorf("the same, upon the authorization: %+v after %d calls", a, r.vendor.calls-calls)
	}
	if a := r.sent(following(processor.Refund, "01p.8", "tx_1", 300)); a.State != processor.Succeeded || r.vendor.calls != calls+1 {
		t.Errorf("all of it: %+v after %d calls", a, r.vendor.calls-calls)
	}
	calls = r.vendor.calls
	r.vendor.cannot = nil
	r.k.Vendor = listless{vendor}
	op := following(processor.Refund, "01p.5", "c_1", 100)
	if a, err := r.k.Send(t.Context(), op); err == nil || r.vendor.calls != calls {
		t.Errorf("%+v after %d calls", a, r.vendor.calls-calls)
	}
	if l := r.lookup(op.Key); l.State != processor.Unseen {
		t.Errorf("%+v", l)
	}
}

// listless is a double whose list cannot be read.
type listless struct{ lister }

func (listless) List(context.Context, protocol.Filter, []string, func(protocol.Entry) error) error {
	return errLost
}
