package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"payledger/cmd/payledger/limits"
	"payledger/domain/processor"
	"payledger/httpapi/intake"
)

// occupy takes every place of the gate, and all room to wait for one. free leaves them.
func occupy(t *testing.T, app *App) (free func()) {
	t.Helper()
	gate := app.intake.Gate
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	var held []*intake.Place
	for range app.options.MaxRequests {
		place, ok := gate.Enter(ctx)
		if !ok {
			t.Fatal("no place")
		}
		held = append(held, place)
	}
	for range app.options.MaxRequests * roomPerPlace {
		waiting.Go(func() { gate.Enter(ctx) })
	}
	eventually(t, gate.Full)
	return func() {
		cancel()
		waiting.Wait()
		for _, place := range held {
			place.Leave()
		}
	}
}

// TestShed checks that a request beyond the limits of running and waiting ones is answered 503 with Retry-After before its sender is
// identified. Probes are answered. When there is room again, requests are served as before (D1).
func TestShed(t *testing.T) {
	t.Parallel()
	o := testOptions(t.TempDir())
	o.MaxRequests = 2
	app := startApp(t, o)
	m := newMerchant(app.ready().API, app.credentials.APIKey)
	token := m.token(t, "order-1", 2500, "4111111111111111")
	free := occupy(t, app)
	for _, path := range []string{"/payments", "/nowhere", "/openapi.yaml"} {
		a, err := m.call("GET", path, nil, nil)
		if err != nil || a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" ||
			decoded[errorAnswer](t, a).Error.ErrorID != "ServiceUnavailable" || a.header.Get("X-Request-Id") == "" {
			t.Errorf("%s: %d %v %s %v", path, a.status, a.header, a.body, err)
		}
	}
	if a, err := m.call("GET", "/checkout", nil, nil); err != nil || a.status != http.StatusServiceUnavailable ||
		a.header.Get("Retry-After") == "" || !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") {
		t.Errorf("the checkout: %d %v %s %v", a.status, a.header, a.body, err)
	}
	becomesReady(t, m, nil)
	m.must(t, "GET", "/healthz", nil, nil)
	refused := "payledger_refused_total{limit=\"requests\"} 4"
	if metrics := getText(t, app.ready().Admin+"/metrics", http.StatusOK); !strings.Contains(metrics, refused) {
		t.Errorf("/metrics lacks %s", refused)
	}
	free()
	if a, err := m.pay(token, "key-1"); err != nil || a.status != http.StatusOK {
		t.Errorf("with room again: %d %s %v", a.status, a.body, err)
	}
}

// TestHangingProcessorTakesNoPlaces: requests that wait for a processor which does not answer leave their places to others.
func TestHangingProcessorTakesNoPlaces(t *testing.T) {
	t.Parallel()
	g, o := newGate(t), testOptions(t.TempDir())
	o.ProcessorURL, o.ProcessorSecret, o.MaxRequests = g.url, "secret", 1
	app := startApp(t, o)
	m := newMerchant(app.ready().API, app.credentials.APIKey)
	routeTo(t, m, processor.Adyen)
	g.hang(processor.Adyen)
	var paying sync.WaitGroup
	for i := range 3 {
		token := m.token(t, fmt.Sprint("order-", i), 2500, "4111111111111111")
		paying.Go(func() {
			if a, err := m.pay(token, ""); err != nil || a.status != http.StatusOK {
				t.Errorf("create answered %d %s %v", a.status, a.body, err)
			}
		})
		eventually(t, func() bool { return g.waits(processor.Adyen) == i+1 })
	}
	m.must(t, "GET", "/payments", m.headers(), nil)
	g.answer(processor.Adyen)
	paying.Wait()
}

// TestOnePaymentsQueue: requests that change one payment wait in one queue, which has an end; beyond it they are refused at
// once. Reads do not wait.
func TestOnePaymentsQueue(t *testing.T) {
	t.Parallel()
	const queue = 128
	g, o := newGate(t), testOptions(t.TempDir())
	o.ProcessorURL, o.ProcessorSecret, o.MaxRequests = g.url, "secret", 2 // waiting requests take no places
	o.MaxConnections, o.AddressConnections = 2*queue, 2*queue
	app := startApp(t, o)
	m := newMerchant(app.ready().API, app.credentials.APIKey)
	routeTo(t, m, processor.Adyen)
	made, err := m.pay(m.token(t, "order-1", 2500, "4111111111111111"), "")
	if err != nil || made.status != http.StatusOK {
		t.Fatal(string(made.body), err)
	}
	id := decoded[paymentAnswer](t, made).ID
	capture := func() answer {
		for {
			a, err := m.call("POST", "/payments/"+id+"/capture", m.headers(), map[string]any{"amount": 1, "final": false})
			if err != nil {
				t.Error(err)
			}
			if a.status != http.StatusServiceUnavailable { // no place at this moment
				return a
			}
		}
	}
	g.hang(processor.Adyen)
	answers := make(chan answer, queue+2)
	var capturing sync.WaitGroup
	for range queue + 2 { // one is under way, the queue, and one too many
		capturing.Go(func() { answers <- capture() })
	}
	late := <-answers
	if refused := decoded[errorAnswer](t, late).Error; late.status != http.StatusConflict || refused.ErrorID != "ConcurrentModification" || refused.PaymentID != id {
		t.Errorf("beyond the queue: %d %s", late.status, late.body)
	}
	if read, _ := m.read(t, id); read.Status != "AUTHORIZED" {
		t.Errorf("the payment reads %+v", read)
	}
	g.answer(processor.Adyen)
	capturing.Wait()
	close(answers)
	for a := range answers {
		if a.status != http.StatusOK {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	if p := decoded[struct {
		Processor struct{ AmountCaptured int }
	}](t, m.must(t, "GET", "/payments/"+id, m.headers(), nil)); p.Processor.AmountCaptured != queue+1 {
		t.Errorf("%d were captured", p.Processor.AmountCaptured)
	}
}

// becomesReady waits for a readyz that says so: the views may be behind for a moment.
func becomesReady(t *testing.T, m *merchant, headers map[string]string) {
	t.Helper()
	eventually(t, func() bool {
		a, err := m.call("GET", "/readyz", headers, nil)
		return err == nil && a.status == http.StatusOK
	})
}

// TestNeverReading opens all possible connections, without a key, that send requests and never read. Probes are answered, other callers
// get 503, and are served once the connections are cut.
func TestNeverReading(t *testing.T) {
	t.Parallel()
	o := testOptions(t.TempDir())
	o.MaxConnections, o.AddressConnections, o.WriteTimeout = 16, 16, 300*time.Millisecond
	app := startApp(t, o)
	m := newMerchant(app.ready().API, app.credentials.APIKey)
	m.client.CloseIdleConnections()
	held, err := hold(strings.TrimPrefix(m.api, "http://"), o.MaxConnections, strings.Repeat("GET /openapi.yaml HTTP/1.1\r\nHost: a\r\n\r\n", 200), 4096)
	defer func() {
		for _, conn := range held {
			conn.Close()
		}
	}()
	if err != nil {
		t.Fatal(err)
	}
	fresh := newMerchant(m.api, m.key)
	fresh.must(t, "GET", "/healthz", nil, nil)
	served := func(path string) func() bool {
		return func() bool {
			a, err := fresh.call("GET", path, fresh.headers(), nil)
			return err == nil && a.status == http.StatusOK
		}
	}
	becomesReady(t, fresh, nil)
	eventually(t, func() bool { return app.intake.Tally.Of(intake.WriteTimeout) > 0 })
	eventually(t, served("/payments"))
	token := fresh.token(t, "order-1", 2500, "4111111111111111")
	if a, err := fresh.pay(token, "key-1"); err != nil || a.status != http.StatusOK {
		t.Errorf("afterwards: %d %s %v", a.status, a.body, err)
	}
}

// TestConnectionCap checks that a connection beyond the cap of an address is answered 429, and one beyond the cap of all is answered 503,
// and that it ends then.
func TestConnectionCap(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		all, each, status int
		reason            string
	}{
		"of an address": {9, 1, http.StatusTooManyRequests, "RateLimitExceeded"},
		"of all":        {1, 9, http.StatusServiceUnavailable, "ServiceUnavailable"},
	} {
		o := testOptions(t.TempDir())
		o.MaxConnections, o.AddressConnections = test.all, test.each
		app := startApp(t, o)
		first, second := newMerchant(app.ready().API, app.credentials.APIKey), newMerchant(app.ready().API, app.credentials.APIKey)
		var a answer
		var err error
		eventually(t, func() bool { // on a slow machine the first connection is idle long enough to give room
			first.client.CloseIdleConnections()
			second.client.CloseIdleConnections()
			if taken, err := first.call("GET", "/payments", first.headers(), nil); err != nil || taken.status != http.StatusOK {
				return false // the connections before are not gone yet
			}
			a, err = second.call("GET", "/payments", second.headers(), nil)
			return err == nil && a.status != http.StatusOK
		})
		if err != nil || a.status != test.status || a.header.Get("Retry-After") == "" || decoded[errorAnswer](t, a).Error.ErrorID != test.reason {
			t.Errorf("%s: %d %v %s %v", name, a.status, a.header, a.body, err)
		}
		becomesReady(t, second, nil)
		first.client.CloseIdleConnections()
		eventually(t, func() bool {
			a, err := second.call("GET", "/payments", second.headers(), nil)
			return err == nil && a.status == http.StatusOK
		})
	}
}

// TestClientsBehindProxy: behind a trusted proxy the client that it names counts, and behind none the peer.
func TestClientsBehindProxy(t *testing.T) {
	t.Parallel()
	g, o := newGate(t), testOptions(t.TempDir())
	o.ProcessorURL, o.ProcessorSecret, o.AddressConnections = g.url, "secret", 1
	o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	app := startApp(t, o)
	m := newMerchant(app.ready().API, app.credentials.APIKey)
	routeTo(t, m, processor.Adyen)
	token := m.token(t, "order-1", 2500, "4111111111111111")
	as := func(client string) map[string]string {
		header := m.headers()
		header["X-Forwarded-For"] = "203.0.113.1, " + client
		return header
	}
	g.hang(processor.Adyen)
	paid := make(chan answer)
	go func() {
		a, err := m.call("POST", "/payments", as("198.51.100.1"), map[string]any{"paymentMethodToken": token})
		if err != nil {
			t.Error(err)
		}
		paid <- a
	}()
	eventually(t, func() bool { return g.waits(processor.Adyen) == 1 })
	a, err := m.call("GET", "/payments", as("198.51.100.1"), nil)
	if err != nil || a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") == "" || decoded[errorAnswer](t, a).Error.ErrorID != "RateLimitExceeded" {
		t.Errorf("the same client: %d %s %v", a.status, a.body, err)
	}
	m.must(t, "GET", "/payments", as("198.51.100.2"), nil)
	becomesReady(t, m, as("198.51.100.1"))
	g.answer(processor.Adyen)
	if a := <-paid; a.status != http.StatusOK {
		t.Errorf("create answered %d %s", a.status, a.body)
	}
	m.must(t, "GET", "/payments", as("198.51.100.1"), nil)
}

// TestAnswersMemory: when no memory is left for large answers, lists get 503. Small answers and changes still succeed. A request
// returns its memory when it ends.
func TestAnswersMemory(t *testing.T) {
	t.Parallel()
	app := startApp(t, testOptions(t.TempDir()))
	m := newMerchant(app.ready().API, app.credentials.APIKey)
	budget, half := app.intake.Answers, limits.Of(0).Answers/2
	one, other := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	if !budget.Take(one, half) || !budget.Take(other, half) {
		t.Fatal("the memory is not free")
	}
	a, err := m.call("GET", "/payments", m.headers(), nil)
	if err != nil || a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" {
		t.Errorf("a list: %d %s %v", a.status, a.body, err)
	}
	made, err := m.pay(m.token(t, "order-1", 2500, "4111111111111111"), "")
	if err != nil || made.status != http.StatusOK {
		t.Fatal(string(made.body), err)
	}
	m.read(t, decoded[paymentAnswer](t, made).ID)
	budget.Give(other, half)
	for range 3 {
		m.must(t, "GET", "/payments", m.headers(), nil)
		m.must(t, "GET", "/payments/"+decoded[paymentAnswer](t, made).ID+"/events", m.headers(), nil)
	}
	eventually(t, func() bool { // once the last answer is written
		whole := budget.Take(other, half)
		if whole {
			budget.Give(other, half)
		}
		return whole
	})
	budget.Give(one, half)
}

// TestViewsWatch: the service is ready as long as the views have caught up within the last seconds, and a probe does not wait.
func TestViewsWatch(t *testing.T) {
	t.Parallel()
	looks := make(chan error)
	v := &viewsWatch{caughtUp: func(ctx context.Context) error {
		select {
		case err := <-looks:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}, progress: func() (done, of uint64) { return 7, 9 }}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { v.run(ctx) })
	if v.behind() == nil {
		t.Error("ready before the first look")
	}
	looks <- io.ErrUnexpectedEOF
	eventually(t, func() bool { // later looks find the same, for as long as it takes
		select {
		case looks <- nil:
		default:
		}
		return v.behind() == nil
	})
	cancel()
	running.Wait() // no look is under way
	v.shown.Store(time.Now().Add(-readyWithin - 2*watchEvery).UnixNano())
	if err := v.behind(); err == nil || !strings.Contains(err.Error(), "7 of 9 events") {
		t.Errorf("ready although the views are behind: %v", err)
	}
}
