package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"payledger/deploy/connectors/stripe/double"
	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/adapter"
)

// world is a connector process between a ledger's client and a double.
type world struct {
	t       *testing.T
	double  *double.Double
	killer  *killer
	stripe  *httptest.Server
	dir     string
	process *process
	client  *adapter.Adapter

	reference domain.PaymentID
	keys      int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, double: double.New(double.Config{WebhookSecret: webhookSecret}), dir: t.TempDir()}
	w.killer = &killer{next: w.double.Handler()}
	w.stripe = httptest.NewServer(w.killer)
	t.Cleanup(w.stripe.Close)
	w.start()
	return w
}

// start starts the connector, and a client of its address.
func (w *world) start() {
	w.t.Helper()
	w.process = start(w.t, w.dir, w.stripe.URL)
	client, err := adapter.New(w.process.URL, &http.Client{Transport: bearer{}})
	if err != nil {
		w.t.Fatal(err)
	}
	w.client = client
}

// bearer sends the ledger's token.
type bearer struct{}

func (bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+ledgerToken)
	return http.DefaultTransport.RoundTrip(r)
}

func (w *world) op(kind processor.Kind, parent string, amount domain.Amount) processor.Operation {
	w.keys++
	o := processor.Operation{
		Kind: kind, Key: domain.OperationKey(fmt.Sprintf("%s.%d", w.reference, w.keys)), Processor: processor.Stripe, MerchantID: "shop",
		Reference: w.reference, ParentID: parent, Amount: amount, Currency: "EUR",
	}
	if kind == processor.Authorize {
		o.Card = &processor.Card{Number: "4242424242424242", CVV: "739", ExpirationMonth: "12", ExpirationYear: "2035"}
	}
	return o
}

func (w *world) send(o processor.Operation) processor.Answer {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), limit)
	defer cancel()
	a, err := w.client.Send(ctx, o)
	if err != nil {
		w.t.Fatalf("%s: %v: %s", o.Kind, err, w.process.stderr)
	}
	return a
}

// scenario is an operation that the connector is killed in, after operations that it needs.
type scenario struct {
	name    string
	request string // to Stripe, as a pattern of method and path
	make    func(*world) processor.Operation
	moved   double.Moved // by the operation and those before it
	before  double.Moved // by those before it
}

const (
	newMethod     = "POST /v1/payment_methods"
	newIntent     = "POST /v1/payment_intents"
	captureIntent = "POST /v1/payment_intents/*/capture"
	cancelIntent  = "POST /v1/payment_intents/*/cancel"
)

func scenarios() []scenario {
	authorized := func(w *world) string { return w.send(w.op(processor.Authorize, "", 1000)).ProcessorTransactionID }
	one := double.Moved{Authorized: 1}
	challenged := func(w *world) processor.Operation {
		o := w.op(processor.Authorize, "", 1000)
		o.Card.Number = "4000000000003220"
		c := w.op(processor.Complete, w.send(o).ProcessorTransactionID, 1000)
		c.Outcome = processor.AuthenticationFailed
		return c
	}
	return []scenario{
		{"card", newMethod, func(w *world) processor.Operation { return w.op(processor.Authorize, "", 1000) }, one, double.Moved{}},
		{"authorize", newIntent, func(w *world) processor.Operation { return w.op(processor.Authorize, "", 1000) }, one, double.Moved{}},
		{"capture of a part", captureIntent, func(w *world) processor.Operation { return w.op(processor.Capture, authorized(w), 400) },
			double.Moved{Authorized: 1, Captured: 400}, one},
		{"final capture", captureIntent, func(w *world) processor.Operation {
			o := w.op(processor.Capture, authorized(w), 700)
			o.Final = true
			return o
		}, double.Moved{Authorized: 1, Captured: 700}, one},
		{"refund", "POST /v1/refunds", func(w *world) processor.Operation {
			sale := authorized(w)
			w.send(w.op(processor.Capture, sale, 1000))
			return w.op(processor.Refund, sale, 300)
		}, double.Moved{Authorized: 1, Captured: 1000, Refunded: 300}, double.Moved{Authorized: 1, Captured: 1000}},
		{"void", cancelIntent, func(w *world) processor.Operation { return w.op(processor.Void, authorized(w), 1000) },
			double.Moved{Authorized: 1, Cancelled: 1}, one},
		{"complete reads", "GET /v1/payment_intents/*", challenged, double.Moved{Cancelled: 1}, double.Moved{}},
		{"complete gives up", cancelIntent, challenged, double.Moved{Cancelled: 1}, double.Moved{}},
	}
}

// ending is what the ledger does after it lost the answer.
type ending string

const (
	looks  ending = "looks up, and sends again what was never seen"
	fences ending = "fences"
)

// TestCrashes kills the connector around every request to Stripe, of every operation. Whatever the
// ledger does then: no operation is lost, none is done twice, none is done behind a fence, and the
// connector's list has what Stripe moved.
func TestCrashes(t *testing.T) {
	w := newWorld(t)
	counts := map[string]int{}
	for _, s := range scenarios() {
		for _, end := range []ending{looks, fences} {
			for _, p := range []struct {
				point point
				delay time.Duration
			}{{before, 0}, {late, 0}, {after, 0}, {answered, 0}, {answered, 2 * time.Millisecond}, {answered, 15 * time.Millisecond}} {
				if p.point == answered && end == fences {
					continue // as a look-up
				}
				w.crash(s, p.point, p.delay, end, counts)
				if t.Failed() {
					return
				}
			}
		}
	}
	t.Logf("%v", counts)
	if text := w.process.stderr.String(); strings.Contains(text, "contradicts") || strings.Contains(text, "did something") {
		t.Error(text)
	}
}

func (w *world) crash(s scenario, p point, delay time.Duration, end ending, counts map[string]int) {
	w.t.Helper()
	counts["kills"]++
	w.reference, w.keys = domain.PaymentID(fmt.Sprintf("01crash%04d", counts["kills"])), 0
	op := s.make(w)
	w.killer.arm(s.request, p, delay, w.process.kill)
	ctx, cancel := context.WithTimeout(w.t.Context(), limit)
	defer cancel()
	if a, err := w.client.Send(ctx, op); err == nil {
		counts["answers before the kill"]++
		if p != answered {
			w.t.Errorf("%s %s: %+v", s.name, p, a)
		}
	}
	<-w.killer.killed
	w.start()
	found := w.settle(ctx, op, end)
	if p == late {
		close(w.killer.release)
		<-w.killer.arrived
		if again := w.settle(ctx, op, end); again.State != found.State || again.Answer != nil && again.Answer.State != found.Answer.State {
			w.t.Errorf("%s, %s: %+v, then %+v", s.name, end, found, again)
		}
	}
	counts[string(found.State)]++
	want := s.moved
	if found.State == processor.Fenced {
		want = s.before
	}
	if moved := w.double.ByReference()[string(w.reference)]; moved != want {
		w.t.Errorf("%s killed %s %s, the ledger %s: Stripe moved %+v, want %+v (%s)", s.name, p, delay, end, moved, want, found.State)
	}
	w.listed(ctx, s.name, want)
}

// settle does what the ledger does until the outcome is known.
func (w *world) settle(ctx context.Context, op processor.Operation, end ending) processor.Lookup {
	w.t.Helper()
	for {
		ask := w.client.Lookup
		if end == fences {
			ask = w.client.Fence
		}
		found, err := ask(ctx, op.Processor, op.Key)
		switch {
		case err != nil:
			w.t.Fatalf("%s: %v: %s", op.Kind, err, w.process.stderr)
		case found.State == processor.Known:
			wrong := found.Answer.State != processor.Succeeded
			if op.Kind == processor.Complete {
				wrong = found.Answer.State != processor.Declined
			}
			if wrong {
				w.t.Errorf("%s ends as %+v", op.Kind, found.Answer)
			}
			return found
		case found.State == processor.Fenced:
			return found
		case found.State == processor.Unseen:
			w.send(op)
		case ctx.Err() != nil:
			w.t.Fatalf("%s is %s for ever", op.Kind, found.State)
		}
	}
}

// listed compares the connector's list of the payment with what Stripe moved.
func (w *world) listed(ctx context.Context, name string, want double.Moved) {
	w.t.Helper()
	list, err := w.client.ByReference(ctx, processor.Stripe, w.reference)
	if err != nil {
		w.t.Fatal(err)
	}
	var got double.Moved
	for _, r := range list {
		if r.State != processor.Succeeded {
			continue
		}
		switch r.Kind {
		case processor.Authorize:
			got.Authorized++
		case processor.Capture:
			got.Captured += int64(r.Amount)
		case processor.Refund:
			got.Refunded += int64(r.Amount)
		case processor.Void:
			got.Cancelled++
		}
	}
	if want.Authorized == 0 { // a check that the customer gave up is no void
		want.Cancelled = 0
	}
	if got != want {
		w.t.Errorf("%s: the list has %+v, Stripe moved %+v", name, got, want)
	}
}
