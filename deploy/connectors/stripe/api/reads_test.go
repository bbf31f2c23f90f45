package api_test

import (
	"bytes"
	"errors"
	"net/http"
	"testing"

	"payledger/deploy/connectors/stripe/double"
	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/connector"
)

// TestRefusedRead: a question that Stripe refuses says nothing about the customer's check. The
// completion has no answer then, and its result later.
func TestRefusedRead(t *testing.T) {
	for _, mode := range []double.Mode{double.Missing, double.Forbidden, double.Refused, double.RateLimited} {
		for amount, path := range map[domain.Amount]string{1000: intentsPath + "/", 0: "/v1/setup_intents/"} {
			r := newRig(t)
			op := authorization("4000000000003220").Operation
			op.Amount, op.ReturnURL = amount, "https://shop.example/back"
			waits := r.do(op)
			r.double.Act(waits.ProcessorTransactionID, true)
			complete := order(processor.Complete, waits.ProcessorTransactionID).Operation
			complete.Amount, complete.Outcome = 0, processor.Authenticated
			r.double.Order(&double.Fault{Mode: mode, Method: "GET", Path: path})
			if a, err := r.kit.Send(t.Context(), complete); err == nil {
				t.Errorf("%s, %d: %+v", mode, amount, a)
			}
			for _, key := range []domain.OperationKey{complete.Key, op.Key} {
				l, err := r.kit.Lookup(t.Context(), processor.Stripe, key)
				if err != nil || l.State != processor.Known || l.Answer.State != processor.Succeeded {
					t.Errorf("%s, %d: %s is %+v %v", mode, amount, key, l, err)
				}
			}
		}
	}
}

// TestRefusedReadAfterWrite: a question that Stripe refuses after a request that changed something
// is neither a refusal nor nothing.
func TestRefusedReadAfterWrite(t *testing.T) {
	for _, mode := range []double.Mode{double.Missing, double.RateLimited} {
		for _, amount := range []domain.Amount{1000, 0} {
			r := newRig(t)
			o := authorization("4000000000003220")
			o.Amount, o.ReturnURL = amount, "https://shop.example/back"
			waits := r.send(o)
			complete := upon(o, waits, processor.Complete)
			complete.Amount, complete.Outcome = 0, processor.AuthenticationFailed
			second := &double.Fault{Mode: mode, Method: "GET", Path: waits.Answer.ProcessorTransactionID}
			r.double.Order(&double.Fault{Mode: double.Changed, Method: "GET", Path: second.Path, Change: func(body any) any {
				r.double.Order(second)
				return body
			}})
			result, err := r.vendor.Send(t.Context(), complete)
			if err == nil || errors.Is(err, connector.ErrNothing) {
				t.Errorf("%s, %d: %+v %v", mode, amount, result, err)
			}
			if result := r.send(again(complete)); result.Answer.State != processor.Declined {
				t.Errorf("%s, %d: %+v", mode, amount, result)
			}
		}
		r := newRig(t)
		unattended := authorization("4000000000003220")
		unattended.Amount = 0
		r.double.Order(&double.Fault{Mode: mode, Path: "/cancel"})
		if result, err := r.vendor.Send(t.Context(), unattended); err == nil || errors.Is(err, connector.ErrNothing) {
			t.Errorf("%s: %+v %v", mode, result, err)
		}
	}
}

// TestSeenKey: of an order whose key Stripe has had with other contents, nothing is certain while
// Stripe does not show its objects.
func TestSeenKey(t *testing.T) {
	r := newRig(t)
	o := authorization("4242424242424242")
	r.send(o)
	o.Descriptor = "other"
	r.double.Order(&double.Fault{Mode: double.RateLimited, Method: "GET"})
	if result, err := r.vendor.Send(t.Context(), o); err == nil || errors.Is(err, connector.ErrNothing) {
		t.Errorf("%+v %v", result, err)
	}
	if result := r.send(o); result.Answer.State != processor.Succeeded {
		t.Errorf("%+v", result)
	}
}

// TestHiddenObject: an event whose object Stripe does not show to the key is refused, and comes
// again: a refund that failed after its success is in no look-up. An event of a connected account
// is taken, and says nothing.
func TestHiddenObject(t *testing.T) {
	r, l := newRig(t), newLedger(t)
	sale, _ := r.paid("4000000000005126", l)
	refund := order(processor.Refund, sale.ProcessorTransactionID).Operation
	refund.NotifyURL = l.URL
	r.do(refund)
	r.deliver()
	r.double.Settle()
	failed := r.double.Undelivered()[0]
	deliver := func(body []byte) int {
		t.Helper()
		status, err := r.double.Deliver(t.Context(), http.DefaultClient, r.web.URL+connector.EventsPath, &double.Event{Body: body})
		if err != nil {
			t.Fatal(err)
		}
		return status
	}
	for _, mode := range []double.Mode{double.Missing, double.Forbidden} {
		r.double.Order(&double.Fault{Mode: mode, Method: "GET"})
		if status := deliver(failed.Body); status == http.StatusOK {
			t.Errorf("%s: the event is taken", mode)
		}
	}
	calls := len(r.double.Calls())
	if status := deliver(bytes.Replace(failed.Body, []byte(`{`), []byte(`{"account":"acct_other",`), 1)); status != http.StatusOK || len(r.double.Calls()) != calls {
		t.Errorf("an event of a connected account: %d", status)
	}
	if status := deliver(failed.Body); status != http.StatusOK {
		t.Errorf("again: %d", status)
	}
	if n := l.wait(t, 1); n[0].Key != refund.Key || n[0].Answer.State != processor.Failed {
		t.Errorf("%+v", n[0])
	}
}
