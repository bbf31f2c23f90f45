//go:build system

package load

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	service "payledger/cmd/payledger/app"
	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/limits"
	"payledger/domain/processor"
	"payledger/httpapi/intake"
)

// occupy takes every place of the gate, and all room to wait for one. free leaves them.
func occupy(t *testing.T, app *service.App) (free func()) {
	t.Helper()
	gate := app.Intake.Gate
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	var held []*intake.Place
	for range app.Options.MaxRequests {
		place, ok := gate.Enter(ctx, intake.Owner{Name: "one"})
		if !ok {
			t.Fatal("no place")
		}
		held = append(held, place)
	}
	for n := range app.Options.MaxRequests * service.RoomPerPlace {
		waiting.Go(func() { gate.Enter(ctx, intake.Owner{Name: fmt.Sprint(n)}) })
	}
	apptest.Eventually(t, gate.Full)
	return func() {
		cancel()
		waiting.Wait()
		for _, place := range held {
			place.Leave()
		}
	}
}

// TestShed checks that a request beyond the limits of running and waiting ones is answered 503 with
// Retry-After before its sender is identified. Probes are answered. When there is room again,
// requests are served as before (D1).
func TestShed(t *testing.T) {
	t.Parallel()
	o := apptest.TestOptions(t.TempDir())
	o.MaxRequests = 2
	app := apptest.StartApp(t, o)
	m := apptest.NewMerchant(app.Ready().API, app.Credentials.APIKey)
	token := m.Token(t, "order-1", 2500, "4111111111111111")
	free := occupy(t, app)
	for _, path := range []string{"/payments", "/nowhere", "/openapi.yaml"} {
		a, err := m.Call("GET", path, nil, nil)
		if err != nil || a.Status != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" ||
			apptest.Decoded[apptest.ErrorAnswer](t, a).Error.ErrorID != "ServiceUnavailable" || a.Header.Get("X-Request-Id") == "" {
			t.Errorf("%s: %d %v %s %v", path, a.Status, a.Header, a.Body, err)
		}
	}
	if a, err := m.Call("GET", "/checkout", nil, nil); err != nil || a.Status != http.StatusServiceUnavailable ||
		a.Header.Get("Retry-After") == "" || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/html") {
		t.Errorf("the checkout: %d %v %s %v", a.Status, a.Header, a.Body, err)
	}
	becomesReady(t, m, nil)
	m.Must(t, "GET", "/healthz", nil, nil)
	refused := "payledger_refused_total{limit=\"requests\"} 4"
	if metrics := apptest.GetText(t, app.Ready().Admin+"/metrics", http.StatusOK); !strings.Contains(metrics, refused) {
		t.Errorf("/metrics lacks %s", refused)
	}
	free()
	if a, err := m.Pay(token, "key-1"); err != nil || a.Status != http.StatusOK {
		t.Errorf("with room again: %d %s %v", a.Status, a.Body, err)
	}
}

// TestHangingProcessorTakesNoPlaces: requests that wait for a processor which does not answer leave
// their places to others.
func TestHangingProcessorTakesNoPlaces(t *testing.T) {
	t.Parallel()
	g, o := newGate(t), apptest.TestOptions(t.TempDir())
	o.ProcessorURL, o.ProcessorSecret, o.MaxRequests = g.url, []string{"secret"}, 1
	app := apptest.StartApp(t, o)
	m := apptest.NewMerchant(app.Ready().API, app.Credentials.APIKey)
	routeTo(t, m, processor.Adyen)
	g.hang(processor.Adyen)
	var paying sync.WaitGroup
	for i := range 3 {
		token := m.Token(t, fmt.Sprint("order-", i), 2500, "4111111111111111")
		paying.Go(func() {
			if a, err := m.Pay(token, ""); err != nil || a.Status != http.StatusOK {
				t.Errorf("create answered %d %s %v", a.Status, a.Body, err)
			}
		})
		apptest.Eventually(t, func() bool { return g.waits(processor.Adyen) == i+1 })
	}
	m.Must(t, "GET", "/payments", m.Headers(), nil)
	g.answer(processor.Adyen)
	paying.Wait()
}

// TestOnePaymentsQueue: requests that change one payment wait in one queue, which has an end;
// beyond it they are refused at once. Reads do not wait.
func TestOnePaymentsQueue(t *testing.T) {
	t.Parallel()
	const queue = 128
	g, o := newGate(t), apptest.TestOptions(t.TempDir())
	o.ProcessorURL, o.ProcessorSecret, o.MaxRequests = g.url, []string{"secret"}, 2 // waiting requests take no places
	o.MaxConnections, o.AddressConnections = 2*queue, 2*queue
	app := apptest.StartApp(t, o)
	m := apptest.NewMerchant(app.Ready().API, app.Credentials.APIKey)
	routeTo(t, m, processor.Adyen)
	made, err := m.Pay(m.Token(t, "order-1", 2500, "4111111111111111"), "")
	if err != nil || made.Status != http.StatusOK {
		t.Fatal(string(made.Body), err)
	}
	id := apptest.Decoded[apptest.PaymentAnswer](t, made).ID
	capture := func() apptest.Answer {
		for {
			a, err := m.Call("POST", "/payments/"+id+"/capture", m.Headers(), map[string]any{"amount": 1, "final": false})
			if err != nil {
				t.Error(err)
			}
			if a.Status != http.StatusServiceUnavailable { // no place at this moment
				return a
			}
		}
	}
	g.hang(processor.Adyen)
	answers := make(chan apptest.Answer, queue+2)
	var capturing sync.WaitGroup
	for range queue + 2 { // one is under way, the queue, and one too many
		capturing.Go(func() { answers <- capture() })
	}
	late := <-answers
	if refused := apptest.Decoded[apptest.ErrorAnswer](t, late).Error; late.Status != http.StatusConflict || refused.ErrorID != "ConcurrentModification" || refused.PaymentID != id {
		t.Errorf("beyond the queue: %d %s", late.Status, late.Body)
	}
	if read, _ := m.Read(t, id); read.Status != "AUTHORIZED" {
		t.Errorf("the payment reads %+v", read)
	}
	g.answer(processor.Adyen)
	capturing.Wait()
	close(answers)
	for a := range answers {
		if a.Status != http.StatusOK {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	}
	if p := apptest.Decoded[struct {
		Processor struct{ AmountCaptured int }
	}](t, m.Must(t, "GET", "/payments/"+id, m.Headers(), nil)); p.Processor.AmountCaptured != queue+1 {
		t.Errorf("%d were captured", p.Processor.AmountCaptured)
	}
}

// becomesReady waits for a readyz that says so: the views may be behind for a moment.
func becomesReady(t *testing.T, m *apptest.Merchant, headers map[string]string) {
	t.Helper()
	apptest.Eventually(t, func() bool {
		a, err := m.Call("GET", "/readyz", headers, nil)
		return err == nil && a.Status == http.StatusOK
	})
}

// TestNeverReading opens all possible connections, without a key, that send requests and never
// read. Probes are answered, other callers get 503, and are served once the connections are cut.
func TestNeverReading(t *testing.T) {
	t.Parallel()
	o := apptest.TestOptions(t.TempDir())
	o.MaxConnections, o.AddressConnections, o.WriteTimeout = 16, 16, 300*time.Millisecond
	app := apptest.StartApp(t, o)
	m := apptest.NewMerchant(app.Ready().API, app.Credentials.APIKey)
	m.Client.CloseIdleConnections()
	held, err := hold(strings.TrimPrefix(m.API, "http://"), o.MaxConnections, strings.Repeat("GET /openapi.yaml HTTP/1.1\r\nHost: a\r\n\r\n", 200), 4096)
	defer func() {
		for _, conn := range held {
			conn.Close()
		}
	}()
	if err != nil {
		t.Fatal(err)
	}
	fresh := apptest.NewMerchant(m.API, m.Key)
	fresh.Must(t, "GET", "/healthz", nil, nil)
	served := func(path string) func() bool {
		return func() bool {
			a, err := fresh.Call("GET", path, fresh.Headers(), nil)
			return err == nil && a.Status == http.StatusOK
		}
	}
	becomesReady(t, fresh, nil)
	apptest.Eventually(t, func() bool { return app.Intake.Tally.Of(intake.WriteTimeout) > 0 })
	apptest.Eventually(t, served("/payments"))
	token := fresh.Token(t, "order-1", 2500, "4111111111111111")
	if a, err := fresh.Pay(token, "key-1"); err != nil || a.Status != http.StatusOK {
		t.Errorf("afterwards: %d %s %v", a.Status, a.Body, err)
	}
}

// TestConnectionCap checks that a connection beyond the cap of an address is answered 429, and one
// beyond the cap of all is answered 503, and that it ends then.
func TestConnectionCap(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		all, each, status int
		reason            string
	}{
		"of an address": {9, 1, http.StatusTooManyRequests, "RateLimitExceeded"},
		"of all":        {1, 9, http.StatusServiceUnavailable, "ServiceUnavailable"},
	} {
		o := apptest.TestOptions(t.TempDir())
		o.MaxConnections, o.AddressConnections = test.all, test.each
		app := apptest.StartApp(t, o)
		first, second := apptest.NewMerchant(app.Ready().API, app.Credentials.APIKey), apptest.NewMerchant(app.Ready().API, app.Credentials.APIKey)
		var a apptest.Answer
		var err error
		apptest.Eventually(t, func() bool { // on a slow machine the first connection is idle long enough to give room
			first.Client.CloseIdleConnections()
			second.Client.CloseIdleConnections()
			if taken, err := first.Call("GET", "/payments", first.Headers(), nil); err != nil || taken.Status != http.StatusOK {
				return false // the connections before are not gone yet
			}
			a, err = second.Call("GET", "/payments", second.Headers(), nil)
			return err == nil && a.Status != http.StatusOK
		})
		if err != nil || a.Status != test.status || a.Header.Get("Retry-After") == "" || apptest.Decoded[apptest.ErrorAnswer](t, a).Error.ErrorID != test.reason {
			t.Errorf("%s: %d %v %s %v", name, a.Status, a.Header, a.Body, err)
		}
		becomesReady(t, second, nil)
		first.Client.CloseIdleConnections()
		apptest.Eventually(t, func() bool {
			a, err := second.Call("GET", "/payments", second.Headers(), nil)
			return err == nil && a.Status == http.StatusOK
		})
	}
}

// TestClientsBehindProxy: behind a trusted proxy the client that it names counts, and behind none
// the peer.
func TestClientsBehindProxy(t *testing.T) {
	t.Parallel()
	g, o := newGate(t), apptest.TestOptions(t.TempDir())
	o.ProcessorURL, o.ProcessorSecret, o.AddressConnections = g.url, []string{"secret"}, 1
	o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	app := apptest.StartApp(t, o)
	m := apptest.NewMerchant(app.Ready().API, app.Credentials.APIKey)
	routeTo(t, m, processor.Adyen)
	token := m.Token(t, "order-1", 2500, "4111111111111111")
	as := func(client string) map[string]string {
		header := m.Headers()
		header["X-Forwarded-For"] = "203.0.113.1, " + client
		return header
	}
	g.hang(processor.Adyen)
	paid := make(chan apptest.Answer)
	go func() {
		a, err := m.Call("POST", "/payments", as("198.51.100.1"), map[string]any{"paymentMethodToken": token})
		if err != nil {
			t.Error(err)
		}
		paid <- a
	}()
	apptest.Eventually(t, func() bool { return g.waits(processor.Adyen) == 1 })
	a, err := m.Call("GET", "/payments", as("198.51.100.1"), nil)
	if err != nil || a.Status != http.StatusTooManyRequests || a.Header.Get("Retry-After") == "" || apptest.Decoded[apptest.ErrorAnswer](t, a).Error.ErrorID != "RateLimitExceeded" {
		t.Errorf("the same client: %d %s %v", a.Status, a.Body, err)
	}
	m.Must(t, "GET", "/payments", as("198.51.100.2"), nil)
	becomesReady(t, m, as("198.51.100.1"))
	g.answer(processor.Adyen)
	if a := <-paid; a.Status != http.StatusOK {
		t.Errorf("create answered %d %s", a.Status, a.Body)
	}
	m.Must(t, "GET", "/payments", as("198.51.100.1"), nil)
}

// TestAnswersMemory: when no memory is left for large answers, lists get 503. Small answers and
// changes still succeed. A request returns its memory when it ends.
func TestAnswersMemory(t *testing.T) {
	t.Parallel()
	app := apptest.StartApp(t, apptest.TestOptions(t.TempDir()))
	m := apptest.NewMerchant(app.Ready().API, app.Credentials.APIKey)
	budget, half := app.Intake.Answers, limits.Of(0).Answers/2
	const one, other = "one account", "another"
	budget.Owe(one, half)
	budget.Owe(other, half)
	a, err := m.Call("GET", "/payments", m.Headers(), nil)
	if err != nil || a.Status != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" {
		t.Errorf("a list: %d %s %v", a.Status, a.Body, err)
	}
	made, err := m.Pay(m.Token(t, "order-1", 2500, "4111111111111111"), "")
	if err != nil || made.Status != http.StatusOK {
		t.Fatal(string(made.Body), err)
	}
	m.Read(t, apptest.Decoded[apptest.PaymentAnswer](t, made).ID)
	budget.Give(other, half)
	for range 3 {
		m.Must(t, "GET", "/payments", m.Headers(), nil)
		m.Must(t, "GET", "/payments/"+apptest.Decoded[apptest.PaymentAnswer](t, made).ID+"/events", m.Headers(), nil)
	}
	apptest.Eventually(t, func() bool { // once the last answer is written
		whole := budget.Take(other, half/2)
		if whole {
			budget.Give(other, half/2)
		}
		return whole
	})
	budget.Give(one, half)
}
