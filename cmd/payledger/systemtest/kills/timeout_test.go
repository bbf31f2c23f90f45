//go:build system

package kills

import (
	"context"
	"testing"
	"time"

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/apptest"
	"payledger/processorsim/adapter"
	"payledger/processorsim/protocol"
)

// cardNeverAnswers: the processor commits, then never answers (D13).
const cardNeverAnswers = "4000000000006470"

// TestUnknownOutcome: a processor that commits and never answers leaves the payment PENDING with
// GATEWAY_TIMEOUT at the payment timeout; it becomes AUTHORIZED by itself, once (D8).
func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	o := apptest.TestOptions(t.TempDir())
	o.PaymentTimeout = 10 * time.Second
	app := apptest.StartApp(t, o)
	m := apptest.NewMerchant(app.Ready().API, app.Credentials.APIKey)
	got, err := m.Pay(m.Token(t, "order-1", 2500, cardNeverAnswers), "key-1")
	if err != nil || got.Status != 200 {
		t.Fatal(got.Status, string(got.Body), err)
	}
	var p apptest.PaymentAnswer
	got.Decode(t, &p)
	if p.Status != "AUTHORIZED" && (p.Status != "PENDING" || p.StatusReason.Type != "GATEWAY_TIMEOUT") { // a late answer may have another reason
		t.Fatalf("at the payment timeout the payment is %+v", p)
	}
	if now := apptest.AwaitOutcome(t, m, p.ID); now.Status != "AUTHORIZED" || now.StatusReason.Type != "" {
		t.Fatalf("the payment ended as %+v", now)
	}
	var history struct {
		Data []struct{ Payment apptest.PaymentAnswer }
	}
	m.Must(t, "GET", "/payments/"+p.ID+"/events?at=2", m.Headers(), nil).Decode(t, &history)
	if late := history.Data[1].Payment; late.Status != "PENDING" || late.StatusReason.Type != "GATEWAY_TIMEOUT" {
		t.Errorf("after the time-out the payment is %+v", late)
	}
	apptest.OneOperation(t, app, p.ID)
}

// TestFaults checks, for every fault of the connection to the processor, that the payment ends with
// the status of the processor's books, which have one operation (D8, D14).
func TestFaults(t *testing.T) {
	t.Parallel()
	once := 1
	for _, c := range []struct {
		timeout time.Duration
		protocol.Fault
	}{
		{time.Minute, protocol.Fault{Mode: protocol.DropBefore, Count: &once}}, // sent again under its key
		{time.Minute, protocol.Fault{Mode: protocol.DropAfter, Count: &once}},  // found by its key
		{10 * time.Second, protocol.Fault{Mode: protocol.Latency, Count: &once, DelayMs: 15000}},
	} {
		t.Run(string(c.Mode), func(t *testing.T) {
			t.Parallel()
			o := apptest.TestOptions(t.TempDir())
			o.PaymentTimeout = c.timeout
			app := apptest.StartApp(t, o)
			m := apptest.NewMerchant(app.Ready().API, app.Credentials.APIKey)
			token := m.Token(t, "order-1", 2500, "4111111111111111")
			if err := app.Processors.Control().SetFault(context.Background(), c.Fault); err != nil {
				t.Fatal(err)
			}
			got, err := m.Pay(token, "key-1")
			if err != nil || got.Status != 200 {
				t.Fatal(got.Status, string(got.Body), err)
			}
			var p apptest.PaymentAnswer
			got.Decode(t, &p)
			if now := apptest.AwaitOutcome(t, m, p.ID); now.Status != "AUTHORIZED" {
				t.Fatalf("the payment ended as %+v", now)
			}
			apptest.OneOperation(t, app, p.ID)
		})
	}
}

// TestStopWhileUnknown: an orderly stop answers a waiting caller as at the payment timeout, and the
// next start brings the payment to its outcome (I1, D8). The 10 s of I1 are promised on a machine
// that is not busy: this stop waits for most of them, so that its waits are held to them here, and
// the whole of it to a minute: the payment timeout is longer.
func TestStopWhileUnknown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := apptest.ServeProcess(t, "--data", dir)
	m := apptest.NewMerchant(p.Ready.API, p.Credentials.APIKey)
	token := m.Token(t, "order-1", 2500, cardNeverAnswers)
	type result struct {
		apptest.Answer
		err error
	}
	answered := make(chan result, 1)
	go func() {
		got, err := m.Pay(token, "key-1")
		answered <- result{got, err}
	}()
	awaitBooks(t, p.Ready.Simulator)
	if waits := app.DrainAfter + app.CutAfter + app.WebhookGrace; waits > apptest.StopLimit-time.Second {
		t.Errorf("of its %s a stop waits for up to %s", apptest.StopLimit, waits)
	}
	p.Stop()
	got := <-answered
	if got.err != nil || got.Status != 200 {
		t.Fatalf("the waiting caller got %d %s %v", got.Status, got.Body, got.err)
	}
	var before apptest.PaymentAnswer
	got.Decode(t, &before)
	if before.Status != "PENDING" || before.StatusReason.Type != "GATEWAY_TIMEOUT" {
		t.Fatalf("the waiting caller got %+v", before)
	}
	apiKey := p.Credentials.APIKey
	p = apptest.ServeProcess(t, "--data", dir)
	if now := apptest.AwaitOutcome(t, apptest.NewMerchant(p.Ready.API, apiKey), before.ID); now.Status != "AUTHORIZED" {
		t.Fatalf("after the restart the payment is %+v", now)
	}
	p.Stop()
}

// awaitBooks waits until the simulator has the first operation.
func awaitBooks(t *testing.T, simulator string) {
	t.Helper()
	books, err := adapter.New(simulator, nil)
	if err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(apptest.SettleDeadline); time.Now().Before(deadline); <-tick.C {
		lines, err := books.Books(context.Background(), adapter.Filter{})
		if err == nil && len(lines) > 0 {
			return
		}
	}
	t.Fatal("no operation reached the simulator")
}
