package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/deploy/connectors/stripe/api"
	"payledger/deploy/connectors/stripe/double"
	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/connector"
)

const (
	apiKey        = "sk_test_Abcdefgh1234567890"
	webhookSecret = "whsec_of_the_double"
	ledgerToken   = "token-of-the-ledger"
	secret        = "notification-secret"
	reference     = domain.PaymentID("01payment")
)

// clock is real time with an offset that tests move.
type clock struct {
	mu     sync.Mutex
	offset time.Duration
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.offset)
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += d
}

// rig is a connector before a double.
type rig struct {
	t      *testing.T
	clock  *clock
	double *double.Double
	stripe *httptest.Server
	vendor *api.Stripe
	kit    *connector.Connector
	web    *httptest.Server
	dir    string
	logs   *buffer
}

// buffer is a log that many goroutines write.
type buffer struct {
	mu   sync.Mutex
	text []byte
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text = append(b.text, p...)
	return len(p), nil
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.text)
}

func newRig(t *testing.T, change ...func(*api.Config, *double.Config)) *rig {
	t.Helper()
	r := &rig{t: t, clock: &clock{}, dir: t.TempDir(), logs: &buffer{}}
	r.stripe = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { r.double.Handler().ServeHTTP(w, q) }))
	t.Cleanup(r.stripe.Close)
	account := double.Config{Now: r.clock.Now, Base: r.stripe.URL, WebhookSecret: webhookSecret}
	config := api.Config{Key: apiKey, WebhookSecrets: []string{webhookSecret}, Base: r.stripe.URL, Multicapture: true, Now: r.clock.Now}
	for _, f := range change {
		f(&config, &account)
	}
	r.double = double.New(account)
	var err error
	if r.vendor, err = api.New(config); err != nil {
		t.Fatal(err)
	}
	r.open()
	t.Cleanup(r.close)
	return r
}

func (r *rig) open() {
	r.t.Helper()
	var err error
	r.kit, err = connector.New(r.t.Context(), connector.Config{
		Name: processor.Stripe, Vendor: r.vendor, Dir: r.dir, Secret: []byte(secret), Token: ledgerToken, Now: r.clock.Now, Log: zerolog.New(r.logs),
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.web = httptest.NewServer(r.kit.Handler())
}

func (r *rig) close() {
	r.web.Close()
	if err := r.kit.Close(context.Background()); err != nil {
		r.t.Error(err)
	}
}

// deliver sends the events that are new, and returns the statuses.
func (r *rig) deliver() (statuses []int) {
	r.t.Helper()
	for _, e := range r.double.Undelivered() {
		status, err := r.double.Deliver(r.t.Context(), http.DefaultClient, r.web.URL+connector.EventsPath, e)
		if err != nil {
			r.t.Fatal(err)
		}
		statuses = append(statuses, status)
	}
	return statuses
}
