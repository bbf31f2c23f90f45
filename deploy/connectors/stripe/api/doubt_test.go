package api_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"payledger/deploy/connectors/stripe/api"
	"payledger/deploy/connectors/stripe/double"
	"payledger/domain/processor"
	"payledger/processorsim/connector"
)

const intentsPath = "/v1/payment_intents"

// again is the next try of an order whose outcome is unknown.
func again(o connector.Order) connector.Order { o.Doubtful = true; return o }

// TestLostAuthorization: an authorization whose answer, or whose request, was lost, is found by a
// repeat with its card, and without it by its metadata.
func TestLostAuthorization(t *testing.T) {
	for _, mode := range []double.Mode{double.LostBefore, double.LostAfter, double.Garbage, double.Huge} {
		for _, carded := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s with card %v", mode, carded), func(t *testing.T) {
				r := newRig(t)
				o := authorization("4242424242424242")
				r.double.Order(&double.Fault{Mode: mode, Path: intentsPath})
				if _, err := r.vendor.Send(t.Context(), o); err == nil || errors.Is(err, connector.ErrNothing) {
					t.Fatalf("%v is no unknown outcome", err)
				} else if strings.Contains(err.Error(), "4242") {
					t.Error(err)
				}
				if carded {
					if result := r.send(again(o)); result.Answer.State != processor.Succeeded || result.Amount != 1000 {
						t.Errorf("%+v", result)
					}
				} else {
					found := must[connector.Finding](t)(r.vendor.Find(t.Context(), o))
					if lost := mode == double.LostBefore; found.Nothing != lost || (found.Result == nil) != lost {
						t.Errorf("%+v", found)
					}
				}
				if n := r.double.ByReference()[string(reference)].Authorized; n > 1 {
					t.Errorf("%d authorizations", n)
				}
			})
		}
	}
}

// TestFenceOfLate: after Find has used a key up, a request that arrives late does nothing.
func TestFenceOfLate(t *testing.T) {
	r := newRig(t)
	o := authorization("4242424242424242")
	r.double.Order(&double.Fault{Mode: double.Late, Path: intentsPath})
	if _, err := r.vendor.Send(t.Context(), o); err == nil {
		t.Fatal("it has an answer")
	}
	for range 2 { // also after a restart between the seal and its record
		if found := must[connector.Finding](t)(r.vendor.Find(t.Context(), o)); !found.Nothing {
			t.Fatalf("%+v", found)
		}
	}
	r.double.Flush()
	if moved := r.double.ByReference()[string(reference)]; moved.Authorized != 0 {
		t.Errorf("%+v", moved)
	}
	found, err := r.vendor.Find(t.Context(), o)
	if err != nil || !found.Nothing {
		t.Errorf("%+v %v", found, err)
	}
}

// TestLateWins: a request that arrived before Find is found, and the key is not free.
func TestLateWins(t *testing.T) {
	r := newRig(t)
	o := authorization("4242424242424242")
	r.double.Order(&double.Fault{Mode: double.Late, Path: intentsPath})
	_, err := r.vendor.Send(t.Context(), o)
	if r.double.Flush(); err == nil {
		t.Fatal("it has an answer")
	}
	if found := must[connector.Finding](t)(r.vendor.Find(t.Context(), o)); found.Result == nil || found.Result.Answer.State != processor.Succeeded {
		t.Errorf("%+v", found)
	}
}

// TestInUse: while the first request runs at Stripe, nothing is known about it, and its key cannot
// be used up.
func TestInUse(t *testing.T) {
	r := newRig(t)
	o := authorization("4242424242424242")
	held := &double.Fault{Mode: double.Held, Path: intentsPath, Entered: make(chan struct{}), Release: make(chan struct{})}
	r.double.Order(held)
	first := make(chan error, 1)
	go func() {
		_, err := r.vendor.Send(t.Context(), o)
		first <- err
	}()
	<-held.Entered
	if found, err := r.vendor.Find(t.Context(), o); err == nil && (found.Nothing || found.Result != nil) {
		t.Errorf("%+v", found)
	}
	if result, err := r.vendor.Send(t.Context(), again(o)); err == nil || errors.Is(err, connector.ErrNothing) {
		t.Errorf("%+v %v", result, err)
	}
	close(held.Release)
	if err := <-first; err != nil {
		t.Error(err)
	}
}

// TestRefusalOfRepeat: a refusal of a repeat is no result while the first request may still arrive
// and not be refused. The key is used up first.
func TestRefusalOfRepeat(t *testing.T) {
	refused := func(any) any {
		return map[string]any{"error": map[string]any{"type": "invalid_request_error", "message": "The card network is not enabled."}}
	}
	for name, arrives := range map[string]bool{"before": true, "after": false} {
		t.Run("the first arrives "+name, func(t *testing.T) {
			r := newRig(t)
			o := authorization("4242424242424242")
			r.double.Order(&double.Fault{Mode: double.Late, Path: intentsPath}, &double.Fault{Mode: double.Refused, Path: intentsPath, Change: refused})
			if _, err := r.vendor.Send(t.Context(), o); err == nil {
				t.Fatal("it has an answer")
			}
			if arrives {
				r.double.Flush()
			}
			result := r.send(again(o))
			if want := map[bool]processor.State{true: processor.Succeeded, false: processor.Failed}[arrives]; result.Answer.State != want {
				t.Errorf("%+v", result)
			}
			r.double.Flush()
			if n := r.double.ByReference()[string(reference)].Authorized; n != map[bool]int{true: 1, false: 0}[arrives] {
				t.Errorf("%d authorizations", n)
			}
		})
	}
}

// TestOldKey: after the life of a key, an order is found by its traces, and without one it is
// certain only when no request can arrive any more.
func TestOldKey(t *testing.T) {
	r := newRig(t)
	sale := authorization("4242424242424242")
	approved := r.send(sale)
	orders := map[string]connector.Order{}
	for i, kind := range []processor.Kind{processor.Capture, processor.Refund, processor.Void} {
		o := upon(sale, approved, kind)
		o.Amount = 400
		if kind != processor.Refund || i == 1 {
			r.double.Order(&double.Fault{Mode: double.LostAfter, Path: map[processor.Kind]string{processor.Capture: "/capture", processor.Refund: "/refunds", processor.Void: "/cancel"}[kind]})
		}
		if _, err := r.vendor.Send(t.Context(), o); err == nil {
			t.Fatal("it has an answer")
		}
		orders[string(kind)] = o
	}
	never := upon(sale, approved, processor.Refund)
	r.clock.Advance(24 * time.Hour)
	for name, o := range orders {
		if found := must[connector.Finding](t)(r.vendor.Find(t.Context(), o)); found.Result == nil || found.Result.Answer.State != processor.Succeeded || found.Result.Amount != 400 {
			t.Errorf("%s: %+v", name, found)
		}
	}
	if found := must[connector.Finding](t)(r.vendor.Find(t.Context(), never)); found.Nothing || found.Result != nil {
		t.Errorf("%+v", found)
	}
	r.clock.Advance(2 * time.Hour)
	if found := must[connector.Finding](t)(r.vendor.Find(t.Context(), never)); !found.Nothing {
		t.Errorf("%+v", found)
	}
}

// TestSavedFault: a 500 that Stripe keeps under the key is no outcome, for as long as the key
// lives.
func TestSavedFault(t *testing.T) {
	r := newRig(t)
	o := authorization("4242424242424242")
	r.double.Order(&double.Fault{Mode: double.Fails, Path: intentsPath})
	for i := range 2 {
		o.Doubtful = i > 0
		if result, err := r.vendor.Send(t.Context(), o); err == nil || errors.Is(err, connector.ErrNothing) {
			t.Errorf("%+v %v", result, err)
		}
	}
	if found := must[connector.Finding](t)(r.vendor.Find(t.Context(), o)); found.Nothing || found.Result != nil {
		t.Errorf("%+v", found)
	}
	r.clock.Advance(26 * time.Hour)
	if found := must[connector.Finding](t)(r.vendor.Find(t.Context(), o)); !found.Nothing {
		t.Errorf("%+v", found)
	}
}

// TestNothing: too many requests, a fault before the second request, and an address at which nobody
// listens are certainly nothing.
func TestNothing(t *testing.T) {
	r := newRig(t)
	for _, fault := range []*double.Fault{
		{Mode: double.RateLimited, Path: intentsPath}, {Mode: double.RateLimited, Path: "/v1/payment_methods"}, {Mode: double.LostAfter, Path: "/v1/payment_methods"},
		{Mode: double.Unavailable, Path: "/v1/payment_methods"}, {Mode: double.Garbage, Path: "/v1/payment_methods"},
	} {
		r.double.Order(fault)
		if result, err := r.vendor.Send(t.Context(), authorization("4242424242424242")); !errors.Is(err, connector.ErrNothing) {
			t.Errorf("%s: %+v %v", fault.Mode, result, err)
		}
	}
	away := newRig(t, func(c *api.Config, _ *double.Config) { c.Base = "http://127.0.0.1:1" })
	if _, err := away.vendor.Send(t.Context(), authorization("4242424242424242")); !errors.Is(err, connector.ErrNothing) {
		t.Error(err)
	}
	if n := r.double.ByReference()[string(reference)].Authorized; n != 0 {
		t.Errorf("%d authorizations", n)
	}
	r.double.Order(&double.Fault{Mode: double.Unavailable, Path: intentsPath})
	if _, err := r.vendor.Send(t.Context(), authorization("4242424242424242")); err == nil || errors.Is(err, connector.ErrNothing) {
		t.Errorf("503 of the second request: %v", err)
	}
}

// TestKeptFailure: a failure that Stripe keeps for a request which moves no money does not hold up
// the authorization: the next try has the object under a second key.
func TestKeptFailure(t *testing.T) {
	for _, path := range []string{"/v1/payment_methods", "/v1/customers"} {
		for _, mode := range []double.Mode{double.Fails, double.FailsAfter} {
			r := newRig(t)
			o := authorization("4242424242424242")
			o.Tokenize = true
			r.double.Order(&double.Fault{Mode: mode, Path: path})
			if result, err := r.vendor.Send(t.Context(), o); !errors.Is(err, connector.ErrNothing) {
				t.Errorf("%s %s: %+v %v", path, mode, result, err)
			}
			for range 2 {
				result, err := r.vendor.Send(t.Context(), o)
				if err != nil || result.Answer.State != processor.Succeeded {
					t.Errorf("%s %s: %+v %v", path, mode, result, err)
				}
			}
			if n := r.double.ByReference()[string(reference)].Authorized; n != 1 {
				t.Errorf("%s %s: %d authorizations", path, mode, n)
			}
		}
	}
}
