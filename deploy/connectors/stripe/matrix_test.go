package main

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"

	"payledger/deploy/connectors/stripe/double"
	"payledger/domain/processor"
	"payledger/processorsim/connector/crashtest"
)

// TestMatrix kills the ledger and the connector around each operation: no operation is lost, none
// is done twice, and the books of ledger, connector and Stripe are equal. Without the build tag
// system it is a sample.
func TestMatrix(t *testing.T) {
	crashtest.Run(t, crashtest.Config{Ledger: ledger(t), Vendor: account})
}

// TestMatrixFinds: a Stripe without idempotency keys captures twice, and the matrix says so.
func TestMatrixFinds(t *testing.T) {
	forgetful := func(t testing.TB) crashtest.Vendor {
		v := account(t)
		next := v.API
		v.API = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Header.Del("Idempotency-Key")
			next.ServeHTTP(w, r)
		})
		return v
	}
	c := crashtest.Config{Ledger: ledger(t), Vendor: forgetful}
	if err := crashtest.Try(t, c, crashtest.CapturePart, crashtest.Acted, crashtest.Connector); !errors.Is(err, crashtest.ErrDoubled) {
		t.Errorf("it is not found: %v", err)
	}
}

// account is a new account at the double.
func account(t testing.TB) crashtest.Vendor {
	t.Helper()
	program, err := built()
	if err != nil {
		t.Fatal(err)
	}
	d := double.New(double.Config{WebhookSecret: webhookSecret})
	var sending sync.Mutex
	return crashtest.Vendor{
		Name: processor.Stripe, API: d.Handler(), Approved: "4242424242424242", Challenged: "4000000000003220",
		Connector: func(api string) crashtest.Program {
			return crashtest.Program{
				Path: program, Args: []string{"--api-base", api, "--multicapture"},
				Env: []string{"STRIPE_API_KEY=" + apiKey, "STRIPE_WEBHOOK_SECRET=" + webhookSecret},
			}
		},
		Moved: func(payment string) crashtest.Moved {
			m := d.ByReference()[payment]
			return crashtest.Moved{Authorized: m.Authorized, Held: d.Held(payment), Captured: m.Captured, Refunded: m.Refunded, Cancelled: m.Cancelled}
		},
		Pass: func(payment string) { d.Act(d.Intent(payment), true) },
		Deliver: func(events string) {
			sending.Lock()
			defer sending.Unlock()
			for _, e := range d.Undelivered() {
				for range 2 { // Stripe may send an event twice
					if status, err := d.Deliver(context.Background(), http.DefaultClient, events, e); err != nil || status != http.StatusOK {
						t.Errorf("event %s: %d %v", e.Type, status, err)
					}
				}
			}
		},
		FailSaved: func(path string) { d.Order(&double.Fault{Mode: double.FailsAfter, Path: path}) },
		Requests: map[crashtest.Operation]string{
			crashtest.Card:        newMethod,
			crashtest.Authorize:   newIntent,
			crashtest.AutoCapture: captureIntent,
			crashtest.Complete:    "GET /v1/payment_intents/*",
			crashtest.GiveUp:      cancelIntent,
			crashtest.Capture:     captureIntent,
			crashtest.CapturePart: captureIntent,
			crashtest.CaptureLast: captureIntent,
			crashtest.Cancel:      cancelIntent,
			crashtest.CancelRest:  cancelIntent,
			crashtest.Refund:      "POST /v1/refunds",
			crashtest.Adjust:      "POST /v1/payment_intents/*/increment_authorization",
		},
	}
}
