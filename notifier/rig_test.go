package notifier

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/domain/seedtest"
	"payledger/eventstore"
	"payledger/eventstore/deliverylog"
	"payledger/eventstore/embedded"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/secrets"
	"payledger/notifier/delivery"
	"payledger/notifier/message"
	"payledger/notifier/payload"
	"payledger/notifier/signature"
	"payledger/projections"
)

func TestMain(m *testing.M) {
	seedtest.Slow()
	flag.Parse()
	eventstoretest.AtOnce(8, 2)
	eventstoretest.RunWithoutLeaks(m)
}

const (
	merchantID domain.AccountID = "acct1"
	secretText                  = "plsec_0123456789abcdefghijABCDEFGHIJ"
	secretName domain.SecretID  = "signing-secret.acct1.1"
	patience                    = time.Minute // the longest wait for an expected result; a good run never takes it
)

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// rig is a ledger with views and a notifier on a folder; it can be stopped, or crash, and come
// back.
type rig struct {
	t       testing.TB
	dir     string
	config  Config
	shards  int
	cluster bool // the log is on a cluster, where other nodes may join
	// wrap and views, if set, wrap the real parts for the notifier.
	wrap  func(stream) stream
	views func(message.Views) message.Views
	hold  chan struct{} // if set, no reader gets an event before hold is closed
	ahead atomic.Int64  // how far the log's clock is ahead
	eager bool          // the position is saved every quarter of a second, so a crash finds it as new as it can be

	server   *embedded.Server // nil in a cluster
	log      engine.Config    // of stores
	store    *engine.Store
	vault    *secrets.Store
	notifier *Notifier
	context  context.Context // of everything that runs
	cancel   context.CancelFunc
	running  sync.WaitGroup
	ended    chan error // of the notifier's Run
	close    []func() error
}

// poll calls done every 10 ms until it returns true. After patience it fails the test
// with the result of failure.
func poll(t testing.TB, done func() bool, failure func() string) {
	t.Helper()
	again := time.NewTicker(10 * time.Millisecond) // a look costs the processor that the watched work needs
	defer again.Stop()
	for limit := time.Now().Add(patience); !done(); <-again.C {
		if time.Now().After(limit) {
			t.Fatal(failure())
		}
	}
}

func (r *rig) now() time.Time { return time.Now().Add(time.Duration(r.ahead.Load())) }

func newRig(t testing.TB) *rig {
	r := &rig{t: t, shards: 2, eager: true, dir: t.TempDir(), config: Config{Timeout: 5 * patience, AllowCIDRs: loopback}}
	t.Cleanup(func() { r.stop() })
	return r
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// start opens everything; the account is made at the first start.
func (r *rig) start() {
	r.t.Helper()
	ctx := context.Background()
	r.startServers()
	var err error
	r.store, err = engine.Open(ctx, r.log)
	r.must(err)
	r.vault, err = secrets.Open(ctx, r.store, secrets.Key{1, 2, 3}, rand.Reader)
	r.must(err)
	r.account()
	fanout := eventstore.NewFanout(r.store)
	views, err := projections.Open(ctx, projections.Config{
		Dir: r.dir + "/views", Store: r.store, Fanout: fanout, Secrets: r.vault, Logger: zerolog.Nop(), Now: time.Now,
	})
	r.must(err)
	r.close = []func() error{views.Close}
	if r.cluster { // the next node need not wait until this one is gone
		r.close = append(r.close, func() error { return r.store.Leave(ctx) }, r.store.Close)
	} else {
		r.close = append(r.close, r.store.Close, r.server.Close)
	}
	c := r.config
	c.Store, c.Fanout, c.Secrets, c.Views, c.Now, c.Random = r.store, fanout, r.vault, views, time.Now, rand.Reader
	if r.views != nil {
		c.Views = r.views(views)
	}
	var s stream = r.store.Deliveries()
	if r.wrap != nil {
		s = r.wrap(s)
	}
	r.notifier, err = open(ctx, c, s)
	r.must(err)
	if r.eager {
		r.notifier.position.Events = 0
	}
	hold := r.hold
	r.run(views.Run, func(ctx context.Context) error {
		if hold != nil {
			select {
			case <-hold:
			case <-ctx.Done():
				return nil
			}
		}
		return fanout.Run(ctx)
	})
}

// startServers starts the server of the log, or the cluster before the first start.
func (r *rig) startServers() {
	r.t.Helper()
	switch {
	case !r.cluster:
		var err error
		r.server, err = embedded.Start(embedded.Config{Dir: r.dir + "/events", Name: "test"})
		r.must(err)
		r.log = eventstoretest.Config(r.server)
	case r.log.External.URL == "":
		r.log = eventstoretest.Cluster(r.t)
		r.t.Cleanup(r.stop) // before the servers stop
	}
	r.log.Shards, r.log.Now, r.log.ReadTimeout = r.shards, r.now, patience
}

func (r *rig) run(loops ...func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	r.context, r.cancel, r.ended = ctx, cancel, make(chan error, 1)
	for _, loop := range loops {
		r.running.Go(func() { _ = loop(ctx) })
	}
	r.running.Go(func() { r.ended <- r.notifier.Run(ctx) })
}

// stop ends everything in order; it may be called again.
func (r *rig) stop() {
	r.t.Helper()
	if r.cancel == nil {
		return
	}
	r.cancel()
	r.running.Wait()
	r.cancel = nil
	for _, c := range r.close {
		if err := c(); err != nil {
			r.t.Error(err)
		}
	}
}

// execute appends one event.
func execute[S any, E domain.Event](r *rig, a *eventstore.Aggregate[S, E], key eventstore.Key, decide func(eventstore.Meta, S) (E, error)) S {
	r.t.Helper()
	meta, err := r.store.NewMeta("test", "request")
	r.must(err)
	tip, err := eventstore.Execute(context.Background(), r.store, a, key, meta, func(s S) (E, error) { return decide(meta, s) })
	r.must(err)
	return tip.State
}

func (r *rig) account() {
	r.t.Helper()
	key := eventstore.Accounts.Key(merchantID, string(merchantID))
	if _, err := r.store.Load(context.Background(), key, eventstore.Applied); !errors.Is(err, eventstore.ErrNotFound) {
		r.must(err)
		return
	}
	r.must(r.vault.Create(context.Background(), secretName, []byte(secretText)))
	execute(r, eventstore.Accounts, key, func(m eventstore.Meta, s account.State) (account.Event, error) {
		return account.DecideCreate(s, account.Create{Created: account.Created{
			At: m.At, ID: merchantID, Name: "test", Environment: account.Sandbox,
			Signing: account.SigningSecret{Secret: secretName},
		}})
	})
}

// ends returns the address of the newest event of each shard.
func (r *rig) ends() []uint64 {
	r.t.Helper()
	ends := make([]uint64, r.shards)
	for shard := range ends {
		var err error
		ends[shard], err = r.store.LastSeq(context.Background(), shard)
		r.must(err)
	}
	return ends
}

// endpoint registers a webhook endpoint.
func (r *rig) endpoint(url string, kinds ...string) domain.EndpointID {
	r.t.Helper()
	return r.endpointAfter(r.ends(), url, kinds...)
}

func (r *rig) endpointAfter(ends []uint64, url string, kinds ...string) domain.EndpointID {
	r.t.Helper()
	var id domain.EndpointID
	execute(r, eventstore.Accounts, eventstore.Accounts.Key(merchantID, string(merchantID)),
		func(m eventstore.Meta, s account.State) (account.Event, error) {
			id = domain.EndpointID(m.EventID)
			return account.DecideCreateEndpoint(s, account.CreateEndpoint{At: m.At, EndpointsAfter: ends, Endpoint: account.Endpoint{
				ID: id, URL: url, Description: "shop", EventTypes: kinds, Enabled: true, CreatedAt: m.At,
			}})
		})
	return id
}

// pay makes a payment and answers its authorization.
func (r *rig) pay(state processor.State) payment.State {
	r.t.Helper()
	var b [16]byte
	_, _ = rand.Read(b[:])
	id, amount := domain.NewPaymentID(b), domain.Amount(2500)
	key := eventstore.Payments.Key(merchantID, string(id))
	execute(r, eventstore.Payments, key, func(m eventstore.Meta, s payment.State) (payment.Event, error) {
		return payment.DecideCreate(s, payment.Create{
			At: m.At, ID: id, Account: merchantID, OrderID: "order-1", Currency: "EUR", Amount: &amount,
			Method: payment.Method{Token: "01token", Type: instrument.MethodCard, Card: domain.NewCard("4111111111111111", "12", "2030", true)},
			Route:  []payment.Target{{Processor: processor.Adyen, MerchantID: "north"}},
		})
	})
	return execute(r, eventstore.Payments, key, func(m eventstore.Meta, s payment.State) (payment.Event, error) {
		return payment.DecideAnswer(s, payment.RecordAnswer{
			At: m.At, EventID: m.EventID, Request: 1,
			Answer: processor.Answer{State: state, ProcessorTransactionID: "ptx", Code: "05"},
		})
	})
}

// records reads the newest record of every delivery.
func (r *rig) records() map[string]delivery.Delivery {
	r.t.Helper()
	stream := r.store.Deliveries()
	found := map[string]delivery.Delivery{}
	for from, end := uint64(1), false; !end; {
		var page []deliverylog.Record
		var err error
		page, end, err = stream.Scan(context.Background(), from, 100)
		r.must(err)
		for _, stored := range page {
			from = stored.Seq + 1
			if !stored.IsDelivery() {
				continue
			}
			d, err := delivery.Decode(stored)
			r.must(err)
			found[stored.Name] = d
		}
	}
	return found
}

// emptyPayload is the body of a webhook about nothing.
func emptyPayload(now time.Time) ([]byte, error) {
	return payload.Body{Rest: []byte(`{"payment":{}}`)}.SignedAt(now)
}

// received is a webhook that verified.
type received struct {
	path   string
	header http.Header
	body   []byte
	payload.Envelope
	payload.Status
}

// receiver is a merchant's endpoint: it verifies and records each webhook, and answers as the path
// requires.
type receiver struct {
	t        *testing.T
	url      string
	got      chan received
	handlers map[string]http.HandlerFunc
	secrets  []string // that it accepts
}

func newReceiver(t *testing.T, handlers map[string]http.HandlerFunc) *receiver {
	v := &receiver{t: t, got: make(chan received, 4096), handlers: handlers, secrets: []string{secretText}}
	server := httptest.NewServer(v)
	t.Cleanup(server.Close)
	v.url = server.URL
	return v
}

func (v *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = signature.Verify(r.Header, body, time.Now(), v.secrets...)
	}
	hook := received{path: r.URL.Path, header: r.Header, body: body}
	if err == nil {
		err = errors.Join(json.Unmarshal(body, &hook.Envelope), json.Unmarshal(body, &hook.Status))
	}
	if err != nil || r.Method != http.MethodPost {
		v.t.Errorf("%s %s: %v: %s", r.Method, r.URL, err, body)
	}
	v.got <- hook
	if handle := v.handlers[r.URL.Path]; handle != nil {
		handle(w, r)
	}
}

// waitFor waits for n webhooks.
func (v *receiver) waitFor(n int) []received {
	v.t.Helper()
	timeout := time.After(patience)
	var all []received
	for len(all) < n {
		select {
		case h := <-v.got:
			all = append(all, h)
		case <-timeout:
			v.t.Fatalf("%d webhooks came, expected %d", len(all), n)
		}
	}
	return all
}

// none fails when a webhook came.
func (v *receiver) none() {
	v.t.Helper()
	select {
	case h := <-v.got:
		v.t.Errorf("a webhook came that should not: %s %s", h.path, h.body)
	default:
	}
}

// count returns the number of arrivals of each event at each path.
func count(hooks []received) map[string]int {
	n := map[string]int{}
	for _, h := range hooks {
		n[h.path+" "+h.EventID]++
	}
	return n
}

// statuses counts the records by state.
func statuses(records map[string]delivery.Delivery) string {
	n := map[delivery.Status]int{}
	for _, d := range records {
		n[d.Status]++
	}
	return fmt.Sprintf("planned %d, succeeded %d, failed %d", n[delivery.Planned], n[delivery.Succeeded], len(records)-n[delivery.Planned]-n[delivery.Succeeded])
}
