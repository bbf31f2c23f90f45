package servicetest

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/options"
	"payledger/domain"
	"payledger/domain/processor"
	"payledger/notifier/signature"
	"payledger/processorsim/protocol"
)

// triggered has the fields of a webhook about a failed operation that the tests read.
type triggered struct {
	EventType     string `json:"eventType"`
	EventID       string `json:"eventId"`
	Version       string `json:"version"`
	RequestAmount *int64 `json:"requestAmount"`
	Payment       struct {
		ID           string `json:"id"`
		Amount       int64  `json:"amount"`
		CurrencyCode string `json:"currencyCode"`
		OrderID      string `json:"orderId"`
		Status       string `json:"status"`
		Processor    struct {
			AmountCaptured int64 `json:"amountCaptured"`
			AmountRefunded int64 `json:"amountRefunded"`
		} `json:"processor"`
		Transactions []struct {
			TransactionType string `json:"transactionType"`
			ProcessorStatus string `json:"processorStatus"`
			Amount          int64  `json:"amount"`
		} `json:"transactions"`
	} `json:"payment"`
	TransactionEvent struct {
		ID string `json:"id"`
	} `json:"transactionEvent"`
}

// trigger is one way to make an operation fail (§6.3).
type trigger struct {
	name     string
	before   []string       // calls on the payment that come first
	act      processor.Kind // out of band at the processor; "" for nothing
	part     int64          // of it, 0 for all
	fault    protocol.Mode  // that the processor meets the call with; "" for none
	kind     processor.Kind // that the fault is of
	call     string
	body     map[string]any
	status   int    // of the answer
	failed   string // kind of the webhook
	amount   int64  // requestAmount, 0 for none
	after    string // the payment's status
	webhooks []string
	event    string // type of the transaction event
	capture  int64  // amounts after it
	refund   int64
}

var triggers = []trigger{
	{
		name: "capture more than authorized", call: "capture", body: map[string]any{"amount": 9999}, status: 422,
		failed: "PAYMENT.CAPTURE.FAILED", amount: 9999, after: "AUTHORIZED", event: "CAPTURE_FAILED",
	},
	{
		name: "refund at the processor before refunding", before: []string{"capture"}, act: processor.Refund, call: "refund", status: 200,
		failed: "PAYMENT.REFUND.FAILED", amount: 2500, after: "SETTLED", webhooks: []string{"PAYMENT.REFUND SETTLED", "PAYMENT.REFUND FAILED"},
		event: "REFUND_FAILED", capture: 2500, refund: 2500,
	},
	{
		name: "capture at the processor before cancelling", act: processor.Capture, call: "cancel", status: 200,
		failed: "PAYMENT.CANCELLATION.FAILED", after: "SETTLED", webhooks: []string{"PAYMENT.STATUS SETTLED"},
		event: "CANCELLATION_FAILED", capture: 2500,
	},
	{
		name: "capture at the processor before adjusting", act: processor.Capture, part: 700, call: "adjust-authorization",
		body: map[string]any{"amount": 4000}, status: 200, failed: "PAYMENT.AUTHORIZATION_ADJUSTMENT.FAILED", amount: 4000,
		after: "PARTIALLY_SETTLED", webhooks: []string{"PAYMENT.STATUS PARTIALLY_SETTLED"}, event: "AUTHORIZATION_ADJUSTMENT_FAILED", capture: 700,
	},
	{
		name: "capture at the processor before capturing", act: processor.Capture, part: 700, call: "capture", status: 200,
		failed: "PAYMENT.CAPTURE.FAILED", amount: 2500, after: "PARTIALLY_SETTLED", webhooks: []string{"PAYMENT.STATUS PARTIALLY_SETTLED"},
		event: "CAPTURE_FAILED", capture: 700,
	},
	{
		name: "void at the processor before capturing", act: processor.Void, call: "capture", status: 200,
		failed: "PAYMENT.CAPTURE.FAILED", amount: 2500, after: "CANCELLED", webhooks: []string{"PAYMENT.STATUS CANCELLED"}, event: "CAPTURE_FAILED",
	},
}

// troubled are the operations that a processor's trouble makes fail: an error, with which it says
// that it did nothing (D14), or no word from it until the payment timeout and no trace of the
// operation then (D8).
var troubled = []trigger{
	{
		name: "capture", kind: processor.Capture, call: "capture", body: map[string]any{"amount": 900},
		failed: "PAYMENT.CAPTURE.FAILED", amount: 900, after: "AUTHORIZED", event: "CAPTURE_FAILED",
	},
	{
		name: "refund", kind: processor.Refund, before: []string{"capture"}, call: "refund", body: map[string]any{"amount": 700},
		failed: "PAYMENT.REFUND.FAILED", amount: 700, after: "SETTLED", webhooks: []string{"PAYMENT.REFUND FAILED"}, event: "REFUND_FAILED", capture: 2500,
	},
	{
		name: "cancel", kind: processor.Void, call: "cancel",
		failed: "PAYMENT.CANCELLATION.FAILED", after: "AUTHORIZED", event: "CANCELLATION_FAILED",
	},
	{
		name: "adjust", kind: processor.Adjust, call: "adjust-authorization", body: map[string]any{"amount": 4000},
		failed: "PAYMENT.AUTHORIZATION_ADJUSTMENT.FAILED", amount: 4000, after: "AUTHORIZED", event: "AUTHORIZATION_ADJUSTMENT_FAILED",
	},
}

// TestTriggers checks each way to make an operation fail: the answer is the contract's, the payment
// has the processor's status, and the webhook, verified here, has the transaction event that a read
// shows (§6.3).
func TestTriggers(t *testing.T) {
	t.Parallel()
	playTriggers(t, apptest.TestOptions(t.TempDir()), triggers)
}

// TestTechnicalErrors: an operation that the processor answers with an error has failed and causes
// a webhook (§6.3, D14.13).
func TestTechnicalErrors(t *testing.T) {
	t.Parallel()
	playTriggers(t, apptest.TestOptions(t.TempDir()), troubledBy(protocol.TechnicalError))
}

// TestTimeOuts: an operation without an answer has not failed. It fails and causes a webhook when
// the processor has never seen it, and never will (§6.3, D8).
func TestTimeOuts(t *testing.T) {
	t.Parallel()
	o := apptest.TestOptions(t.TempDir())
	o.PaymentTimeout = 6 * time.Second
	app, m, came := openTriggers(t, o)
	var all []pulled
	for _, c := range troubledBy(protocol.DropBefore) {
		all = append(all, c.ready(t, app, m, came))
	}
	var failures []string
	var calls sync.WaitGroup // all at once: each takes its payment timeout
	for _, p := range all {
		failures = append(append(failures, p.failed), p.webhooks...)
		p.trouble(t, app)
		calls.Go(func() { p.ask(t, m) })
	}
	calls.Wait()
	hooks := awaitHooks(t, app, came, failures...)
	for _, p := range all {
		t.Run(p.name, func(t *testing.T) { p.holds(t, m, hooks) })
	}
}

// troubledBy are the operations that fail by a fault.
func troubledBy(mode protocol.Mode) (list []trigger) {
	for _, c := range troubled {
		c.fault, c.status = mode, 200
		list = append(list, c)
	}
	return list
}

// openTriggers starts a service whose merchant receives webhooks.
func openTriggers(t *testing.T, o options.Options) (*app.App, *apptest.Merchant, <-chan apptest.Hook) {
	t.Helper()
	app := apptest.StartApp(t, o)
	m := apptest.NewMerchant(app.Ready().API, app.Credentials.APIKey)
	url, came := apptest.Inbox(t, 200)
	m.Must(t, "POST", "/management/webhook-endpoints", m.Headers(), map[string]any{"url": url})
	return app, m, came
}

func playTriggers(t *testing.T, o options.Options, list []trigger) {
	app, m, came := openTriggers(t, o)
	for _, c := range list {
		t.Run(c.name, func(t *testing.T) { c.play(t, app, m, came) })
	}
}

// play makes a payment and has its operation fail.
func (c trigger) play(t *testing.T, app *app.App, m *apptest.Merchant, came <-chan apptest.Hook) {
	p := c.ready(t, app, m, came)
	p.trouble(t, app)
	p.ask(t, m)
	p.holds(t, m, awaitHooks(t, app, came, append([]string{c.failed}, c.webhooks...)...))
	if err := app.Processors.Control().ClearFaults(context.Background()); err != nil {
		t.Error(err)
	}
}

// pulled is a trigger with the payment whose operation fails.
type pulled struct {
	trigger
	id    domain.PaymentID
	order string
}

// path is the payment's in the API.
func (p pulled) path() string { return "/payments/" + string(p.id) }

// ready makes the payment, with the calls that come first.
func (c trigger) ready(t *testing.T, app *app.App, m *apptest.Merchant, came <-chan apptest.Hook) pulled {
	t.Helper()
	p := pulled{trigger: c, order: "order of " + c.name}
	var paid apptest.PaymentAnswer
	m.Must(t, "POST", "/payments", m.Headers(), map[string]any{
		"paymentMethodToken": m.Token(t, p.order, 2500, "4111111111111111"),
		"paymentMethod":      map[string]any{"authorizationType": "ESTIMATED"},
	}).Decode(t, &paid)
	p.id = domain.PaymentID(paid.ID)
	awaitHooks(t, app, came, "PAYMENT.STATUS AUTHORIZED")
	for _, call := range c.before {
		m.Must(t, "POST", p.path()+"/"+call, m.Headers(), nil)
		awaitHooks(t, app, came, "PAYMENT.STATUS SETTLED")
	}
	return p
}

// ask makes the failing call.
func (p pulled) ask(t *testing.T, m *apptest.Merchant) {
	t.Helper()
	if got, err := m.Call("POST", p.path()+"/"+p.call, m.Headers(), p.body); err != nil || got.Status != p.status {
		t.Errorf("%s: answered %d %s %v, not %d", p.name, got.Status, got.Body, err, p.status)
	}
}

// trouble prepares the failure at the processor.
func (p pulled) trouble(t *testing.T, app *app.App) {
	t.Helper()
	if p.act != "" {
		var part *domain.Amount
		if p.part > 0 {
			part = new(domain.Amount(p.part))
		}
		if _, err := app.Processors.Control().Act(context.Background(), p.act, p.id, part); err != nil {
			t.Fatal(err)
		}
	}
	if p.fault != "" {
		if err := app.Processors.Control().SetFault(context.Background(), protocol.Fault{Mode: p.fault, Operation: p.kind}); err != nil {
			t.Fatal(err)
		}
	}
}

// holds compares the webhooks and the payment with the trigger's expected result.
func (p pulled) holds(t *testing.T, m *apptest.Merchant, hooks []triggered) {
	t.Helper()
	var now apptest.LifecycleSeen
	m.Must(t, "GET", p.path()+"?expand=transactions.events", m.Headers(), nil).Decode(t, &now)
	if now.Status != p.after || now.Processor.AmountCaptured != p.capture || now.Processor.AmountRefunded != p.refund {
		t.Errorf("the payment is %s with %+v; want %s with %d, %d", now.Status, now.Processor, p.after, p.capture, p.refund)
	}
	failure := ""
	for _, transaction := range now.Transactions {
		for _, e := range transaction.Events {
			if e.Type == p.event {
				failure = e.ID
			}
		}
	}
	i := slices.IndexFunc(hooks, func(h triggered) bool { return h.EventType == p.failed })
	h := hooks[i]
	if h.TransactionEvent.ID != failure || failure == "" {
		t.Errorf("the webhook names the transaction event %q, the payment shows %q", h.TransactionEvent.ID, failure)
	}
	if h.Version != "2.4" || h.Payment.ID != now.ID || h.Payment.Amount != 2500 || h.Payment.CurrencyCode != "EUR" || h.Payment.OrderID != p.order {
		t.Errorf("the webhook says %+v", h)
	}
	if (h.RequestAmount == nil) != (p.amount == 0) || h.RequestAmount != nil && *h.RequestAmount != p.amount {
		t.Errorf("the webhook asks for %v, not %d", h.RequestAmount, p.amount)
	}
}

// name returns a webhook's kind with the status of its subject.
func (h triggered) name() string {
	switch h.EventType {
	case "PAYMENT.STATUS":
		return h.EventType + " " + h.Payment.Status
	case "PAYMENT.REFUND": // the newest by its place: the webhook has the state after the event
		for _, t := range slices.Backward(h.Payment.Transactions) {
			if t.TransactionType == "REFUND" && t.ProcessorStatus != "PENDING" {
				return h.EventType + " " + t.ProcessorStatus
			}
		}
	}
	return h.EventType
}

// awaitHooks receives and verifies webhooks until exactly the named ones have come, in any order.
func awaitHooks(t *testing.T, app *app.App, came <-chan apptest.Hook, names ...string) (hooks []triggered) {
	t.Helper()
	seen, got := map[string]bool{}, []string{}
	for deadline := time.After(apptest.SettleDeadline); len(hooks) < len(names); {
		select {
		case h := <-came:
			if err := signature.Verify(h.Header, h.Body, time.Now(), app.Credentials.SigningSecret); err != nil {
				t.Fatal(err, string(h.Body))
			}
			var webhook triggered
			if err := json.Unmarshal(h.Body, &webhook); err != nil {
				t.Fatal(err)
			}
			if once := webhook.EventType + webhook.EventID; !seen[once] {
				seen[once], hooks, got = true, append(hooks, webhook), append(got, webhook.name())
			}
		case <-deadline:
			t.Fatalf("webhooks %v came, not %v", got, names)
		}
	}
	slices.Sort(names)
	slices.Sort(got)
	if !slices.Equal(got, names) {
		t.Fatalf("webhooks %v came, not %v", got, names)
	}
	return hooks
}
