package servicetest

import (
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/options"
	"payledger/processorsim/adapter"
	"payledger/processorsim/simulator"
)

// vendor is a simulator with an address, a token and a secret of its own.
type vendor struct {
	*adapter.Adapter // of its control API
	url              string
}

func openVendor(t *testing.T, token, secret string) vendor {
	t.Helper()
	sim, err := simulator.New(simulator.Config{Dir: t.TempDir(), Secret: []byte(secret), Token: token})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(sim.Handler())
	control, err := adapter.Open(adapter.Connection{URL: web.URL, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		control.Close()
		if err := sim.Close(); err != nil {
			t.Error(err)
		}
		web.Close()
	})
	return vendor{control, web.URL}
}

// keys returns the keys of the operations at the vendor, each with its processor.
func (v vendor) keys(t *testing.T) (keys []string) {
	t.Helper()
	lines, err := v.Books(t.Context(), adapter.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		keys = append(keys, string(line.Processor)+" "+string(line.IdempotencyKey))
	}
	return keys
}

// startLogged starts a service that the test stops.
func startLogged(t *testing.T, o options.Options, log *logBuffer) (*app.App, func()) {
	t.Helper()
	a, err := app.Start(t.Context(), o, zerolog.New(log))
	if err != nil {
		t.Fatal(err)
	}
	stop := sync.OnceFunc(func() {
		if err := a.Stop(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return a, stop
}

// TestTwoProcessors: each of two processors gets the payments of its own, with its own token, and
// is believed with its own secret. No other one is tried or takes a place in a rule. The log has
// neither token nor secret, and reconcile finds both books with the same flags.
func TestTwoProcessors(t *testing.T) {
	t.Parallel()
	adyen, stripe := openVendor(t, "token-of-a", "secret-of-a"), openVendor(t, "token-of-s", "secret-of-s")
	o, log := apptest.TestOptions(t.TempDir()), &logBuffer{}
	made := apptest.Initialized(t, o.Data)
	o.Processor = []string{"STRIPE=" + stripe.url, "ADYEN=" + adyen.url}
	o.ProcessorToken, o.ProcessorSecret = []string{"STRIPE=token-of-s", "ADYEN=token-of-a"}, []string{"STRIPE=secret-of-s", "ADYEN=secret-of-a"}
	a, stop := startLogged(t, o, log)
	m := apptest.NewMerchant(a.Ready().API, made.APIKey)
	if refused, err := m.Call("PUT", "/management/routing", m.Headers(), map[string]any{"rules": []any{}, "default": []string{"STRIPE", "PAYPAL"}}); err != nil || refused.Status != 422 ||
		!strings.Contains(string(refused.Body), "$.default[1]") || !strings.Contains(string(refused.Body), "no address in this service") {
		t.Errorf("a default without an address: %d %s %v", refused.Status, refused.Body, err)
	}
	m.Must(t, "PUT", "/management/routing", m.Headers(), map[string]any{"rules": []any{
		map[string]any{"name": "dollars", "when": map[string]any{"currencyCode": []string{"USD"}}, "processors": []string{"STRIPE"}},
	}})
	notified := 0
	for currency, at := range map[string]vendor{"EUR": adyen, "USD": stripe} {
		name := map[string]string{"EUR": "ADYEN", "USD": "STRIPE"}[currency]
		paid := payIn(t, m, currency, cardAnswersLater)
		if _, err := at.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if p := apptest.AwaitOutcome(t, m, paid); p.Status != "AUTHORIZED" {
			t.Errorf("%s: %+v", currency, p)
		}
		notified++
		apptest.Until(t, time.Minute, "a notification", func() (bool, string) {
			return log.count(`"route":"/processors/{name}/notifications","status":200`) == notified, ""
		})
		if keys := at.keys(t); !slices.Equal(keys, []string{name + " " + paid + ".1"}) {
			t.Errorf("%s: %v", currency, keys)
		}
	}
	stop()
	for _, secret := range []string{"token-of", "secret-of"} {
		if log.count(secret) > 0 {
			t.Errorf("the log has %q", secret)
		}
	}
	token := apptest.SecretFile(t, "STRIPE=token-of-s\nADYEN=token-of-a\n")
	status, out, stderr := apptest.Invoke(t, "reconcile", "--data", o.Data, "--processor", o.Processor[0], "--processor", o.Processor[1], "--processor-token-file", token)
	if status != 0 || !strings.Contains(out, "Compared with ADYEN, STRIPE: 2 payments of the ledger with 2 operations there, 2 entries") {
		t.Errorf("reconcile exits %d: %s%s", status, out, stderr)
	}
	if status, _, stderr := apptest.Invoke(t, "reconcile", "--data", o.Data, "--processor", "STRIPE", "--processor", o.Processor[0]); status == 0 || !strings.Contains(stderr, "401 unauthorized") {
		t.Errorf("reconcile without a token exits %d: %s", status, stderr)
	}
}

// payIn makes a payment, and returns its id.
func payIn(t *testing.T, m *apptest.Merchant, currency, card string) string {
	t.Helper()
	answer, err := m.Pay(m.TokenIn(t, currency, "order-"+currency, 2500, card), "")
	if err != nil || answer.Status != 200 {
		t.Fatal(answer.Status, string(answer.Body), err)
	}
	return apptest.Decoded[apptest.PaymentAnswer](t, answer).ID
}

// TestProcessorRemoved: the capture of a payment whose processor has lost its address waits, and
// its outcome is not guessed. New payments go to the others. With the address it gets its outcome.
func TestProcessorRemoved(t *testing.T) {
	t.Parallel()
	adyen, stripe := openVendor(t, "", "secret"), openVendor(t, "", "secret")
	o := apptest.TestOptions(t.TempDir())
	made := apptest.Initialized(t, o.Data)
	o.ProcessorSecret = []string{"secret"}
	both := []string{"STRIPE=" + stripe.url, "ADYEN=" + adyen.url}
	const usual, short = time.Minute, 300 * time.Millisecond // a busy machine may answer later than the short one
	const enough = 5 * time.Second                           // the capture waits for so long
	start := func(processors []string, timeout time.Duration) (*apptest.Merchant, func()) {
		o.Processor, o.PaymentTimeout = processors, timeout
		a, stop := startLogged(t, o, &logBuffer{})
		return apptest.NewMerchant(a.Ready().API, made.APIKey), stop
	}
	m, stop := start(both, usual)
	paid := payIn(t, m, "EUR", "4111111111111111")
	stop()

	m, stop = start(both[:1], enough)
	captured := apptest.Decoded[apptest.PaymentAnswer](t, m.Must(t, "POST", "/payments/"+paid+"/capture", m.Headers(), nil))
	if captured.Status != "SETTLING" && captured.Status != "AUTHORIZED" || captured.Processor.Name != "ADYEN" {
		t.Errorf("captured without an address: %+v", captured)
	}
	other := payIn(t, m, "EUR", "4111111111111111")
	if p, _ := m.Read(t, other); p.Status != "AUTHORIZED" || p.Processor.Name != "STRIPE" {
		t.Errorf("a new payment: %+v", p)
	}
	if keys := adyen.keys(t); !slices.Equal(keys, []string{"ADYEN " + paid + ".1"}) {
		t.Errorf("%v", keys)
	}
	stop()

	m, stop = start(both, short)
	failed := false // else the capture was sent now
	apptest.Until(t, time.Minute, "an outcome of the capture", func() (bool, string) {
		events := string(m.Must(t, "GET", "/payments/"+paid+"/events", m.Headers(), nil).Body)
		failed = strings.Contains(events, `"payment.capture_failed"`)
		return failed || strings.Contains(events, `"payment.captured"`), events
	})
	stop()

	m, stop = start(both, usual)
	defer stop()
	if failed {
		m.Must(t, "POST", "/payments/"+paid+"/capture", m.Headers(), nil)
	}
	if p, _ := m.Read(t, paid); p.Status != "SETTLED" {
		t.Errorf("captured in the end: %+v", p)
	}
	if keys := adyen.keys(t); len(keys) != 2 {
		t.Errorf("%v", keys)
	}
}
