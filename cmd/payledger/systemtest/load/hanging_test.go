//go:build system

package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/apptest"
	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/secrets"
	"payledger/processorsim/protocol"
	"payledger/processorsim/simulator"
)

// gate is a proxy in front of the simulator. It can hold back the answers of a processor.
type gate struct {
	url     string
	behind  *httputil.ReverseProxy
	mu      sync.Mutex
	hangs   map[processor.Name]chan struct{} // until closed
	waiting map[processor.Name]int           // requests about operations; the service asks for disputes and capabilities at times of its own
}

func newGate(t *testing.T) *gate {
	t.Helper()
	sim, err := simulator.New(simulator.Config{Dir: t.TempDir(), Secret: []byte("secret")})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(sim.Handler())
	target, err := url.Parse(web.URL)
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{behind: httputil.NewSingleHostReverseProxy(target), hangs: map[processor.Name]chan struct{}{}, waiting: map[processor.Name]int{}}
	g.behind.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) } // the client is gone
	front := httptest.NewServer(g)
	g.url = front.URL
	t.Cleanup(func() {
		for _, name := range processor.Names {
			g.answer(name)
		}
		front.Close()
		if err := sim.Close(); err != nil {
			t.Error(err)
		}
		web.Close()
	})
	return g
}

// ServeHTTP passes a request on, and the answer back once its processor answers.
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body)) // the server notices now when the client goes away
	rest, _ := strings.CutPrefix(r.URL.Path, "/v1/processors/")
	named, what, _ := strings.Cut(rest, "/")
	name, counts := processor.Name(named), 0
	if strings.HasPrefix(what, "operations") {
		counts = 1
	}
	g.mu.Lock()
	held := g.hangs[name]
	g.waiting[name] += counts
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.waiting[name] -= counts
	}()
	if held == nil {
		g.behind.ServeHTTP(w, r)
		return
	}
	answer := httptest.NewRecorder()
	g.behind.ServeHTTP(answer, r.Clone(context.WithoutCancel(r.Context())))
	select {
	case <-held:
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes()) // the client may be gone
	case <-r.Context().Done():
	}
}

func (g *gate) hang(name processor.Name) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.hangs[name] = make(chan struct{})
}

func (g *gate) answer(name processor.Name) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.hangs[name] != nil {
		close(g.hangs[name])
		delete(g.hangs, name)
	}
}

func (g *gate) waits(name processor.Name) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.waiting[name]
}

// hangingCreates is how many payments have no outcome at each of two processors when the process is
// killed.
const hangingCreates = 40

// TestHangingProcessor checks that a processor that accepts requests and never answers delays
// neither the start after a kill, nor the recovery of payments at another processor, nor new ones
// there, nor the destruction of a card at its time, nor the search for a dispute whose notification
// was lost, nor the stop. Its outcomes are found once when it answers again (D8, D14.12, §5.2 rule
// 3).
func TestHangingProcessor(t *testing.T) {
	t.Parallel()
	g, dir := newGate(t), t.TempDir()
	p := apptest.ServeProcess(t, "--data", dir, "--processor-url", g.url, "--client-token-ttl", "1h")
	m := apptest.NewMerchant(p.Ready.API, p.Credentials.APIKey)
	unused := domain.Token(m.Token(t, "order-unused", 2500, "4111111111111111"))
	tokens := map[processor.Name][]string{}
	for _, name := range []processor.Name{processor.Adyen, processor.Stripe} {
		g.hang(name)
		routeTo(t, m, name)
		for n := range hangingCreates {
			token := m.Token(t, fmt.Sprintf("order-%s-%d", name, n), 2500, "4111111111111111")
			tokens[name] = append(tokens[name], token)
			go m.Pay(token, "") // this call gets no answer
		}
		apptest.Eventually(t, func() bool { return g.waits(name) == hangingCreates })
	}
	p.Kill()
	g.answer(processor.Stripe)

	o := apptest.TestOptions(dir)
	o.ProcessorURL, o.ProcessorSecret, o.DisputeLookup = g.url, []string{"secret"}, 50*time.Millisecond
	began := time.Now()
	app, err := apptest.StartAt(context.Background(), o, zerolog.Nop(), func() time.Time { return time.Now().Add(2 * time.Hour) })
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	stop := sync.OnceValue(app.Stop)
	t.Cleanup(func() { _ = stop() }) // the test looks at it, unless it failed before
	account := p.Credentials.AccountID
	m = apptest.NewMerchant(app.Ready().API, p.Credentials.APIKey)
	apptest.Eventually(t, func() bool { return g.waits(processor.Adyen) > 0 })
	for _, token := range tokens[processor.Stripe] {
		if p := apptest.AwaitOutcome(t, m, string(domain.PaymentIDForToken(account, domain.Token(token)))); p.Status != "AUTHORIZED" {
			t.Errorf("recovered as %+v", p)
		}
	}
	paid := payAt(t, m, processor.Stripe)
	for range 2 { // the first run sees the key of the card's minute, which must stand for two minutes
		app.Recoverer.RunOnce(t.Context(), time.Now().Add(2*time.Hour))
		app.Ledger.Secrets.Skip(3 * time.Minute)
	}
	if !cardGone(t, app, account, unused) {
		t.Error("the unused card is not destroyed")
	}
	findLostDispute(t, app, m, paid)
	for _, token := range tokens[processor.Adyen] {
		if p, _ := m.Read(t, string(domain.PaymentIDForToken(account, domain.Token(token)))); p.Status != "PENDING" {
			t.Errorf("the processor hangs, and the payment is %+v", p)
		}
	}
	apptest.Eventually(t, func() bool { return g.waits(processor.Adyen) > 0 }) // between two look-ups none waits
	if n := g.waits(processor.Adyen); n >= hangingCreates {
		t.Errorf("%d requests wait at the processor that hangs", n)
	}
	t.Logf("ready after %s", took)
	if took >= 20*time.Second { // a look-up takes as long at least
		t.Errorf("the start took %s", took)
	}
	g.answer(processor.Adyen)
	for _, token := range tokens[processor.Adyen] {
		id := string(domain.PaymentIDForToken(account, domain.Token(token)))
		if p := apptest.AwaitOutcome(t, m, id); p.Status != "AUTHORIZED" {
			t.Errorf("recovered as %+v", p)
		}
		apptest.OneOperation(t, app, id)
	}
	g.hang(processor.Adyen)
	routeTo(t, m, processor.Adyen)
	for n := range hangingCreates {
		go m.Pay(m.Token(t, fmt.Sprint("order-last-", n), 2500, "4111111111111111"), "") // no goroutine waits for the answer
	}
	apptest.Eventually(t, func() bool { return g.waits(processor.Adyen) >= hangingCreates })
	ended := time.Now()
	if err := stop(); err != nil {
		t.Error(err)
	}
	if took := time.Since(ended); took > time.Minute { // the payment timeout is longer
		t.Errorf("the stop took %s", took)
	}
}

func routeTo(t *testing.T, m *apptest.Merchant, name processor.Name) {
	t.Helper()
	m.Must(t, "PUT", "/management/routing", m.Headers(), map[string]any{"rules": []any{}, "default": []processor.Name{name}})
}

// payAt makes a payment and captures it.
func payAt(t *testing.T, m *apptest.Merchant, name processor.Name) string {
	t.Helper()
	routeTo(t, m, name)
	a, err := m.Pay(m.Token(t, "order-new", 2500, "4111111111111111"), "key-new")
	if err != nil || a.Status != 200 {
		t.Fatal(string(a.Body), err)
	}
	id := apptest.Decoded[apptest.PaymentAnswer](t, a).ID
	if made := apptest.Decoded[apptest.PaymentAnswer](t, a); made.Status != "AUTHORIZED" {
		t.Fatalf("a new payment is %s", a.Body)
	}
	if p := apptest.Decoded[apptest.PaymentAnswer](t, m.Must(t, "POST", "/payments/"+id+"/capture", m.Headers(), nil)); p.Status != "SETTLED" {
		t.Fatalf("%+v", p)
	}
	return id
}

// cardGone reports whether the card behind a token is destroyed.
func cardGone(t *testing.T, app *app.App, account domain.AccountID, token domain.Token) bool {
	t.Helper()
	tip, err := eventstore.Load(context.Background(), app.Ledger.Store, eventstore.Instruments, eventstore.Instruments.Key(account, string(token)), eventstore.Applied)
	if err != nil || !tip.State.Exists() {
		t.Fatal("no such token", err)
	}
	_, err = app.Ledger.Secrets.Card(context.Background(), secrets.CardRef{Account: account, Token: token, TokenizedAt: tip.State.CreatedAt}, tip.State.CreatedAt)
	return errors.Is(err, secrets.ErrGone)
}

// findLostDispute waits until the service has found a dispute whose notification is lost.
func findLostDispute(t *testing.T, app *app.App, m *apptest.Merchant, payment string) {
	t.Helper()
	fault := protocol.Fault{Operation: processor.Dispute, Mode: protocol.DropBefore}
	if err := app.Processors.Control().SetFault(context.Background(), fault); err != nil {
		t.Fatal(err)
	}
	opened, err := app.Processors.Control().OpenDispute(context.Background(), protocol.DisputeOrder{
		Reference: domain.PaymentID(payment), Type: "DISPUTE", ReasonCode: "13.1",
	})
	if err != nil {
		t.Fatal(err)
	}
	apptest.Eventually(t, func() bool {
		return strings.Contains(string(m.Must(t, "GET", "/management/disputes?paymentId="+payment, m.Headers(), nil).Body), opened.ID)
	})
}
