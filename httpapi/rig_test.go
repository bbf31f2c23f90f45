package httpapi_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/accounts"
	"payledger/eventstore/commands/accounts/accountstest"
	"payledger/eventstore/commands/reconcile"
	"payledger/eventstore/commands/reconcile/reconciletest"
	"payledger/eventstore/commands/service"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/prover"
	"payledger/httpapi"
	"payledger/httpapi/openapitest"
	"payledger/notifier"
	"payledger/notifier/guard"
	"payledger/notifier/listener"
	"payledger/processorsim/adapter"
	"payledger/processorsim/protocol"
	"payledger/processorsim/simulator"
	"payledger/projections"
	"payledger/projections/eventjson/eventjsontest"
	"payledger/projections/history"
)

func TestMain(m *testing.M) {
	flag.Parse()
	eventstoretest.AtOnce(8, 2)
	eventstoretest.RunWithoutLeaks(m)
}

// rig is the API on a real log, real read models, real commands and the real simulator, behind real
// HTTP servers. Every answer is held to openapi.yaml.
type rig struct {
	t               testing.TB
	url             string
	client          *http.Client
	config          httpapi.Config
	api             *httpapi.API
	account         accounts.Credentials
	store           *engine.Store
	service         *service.Service
	views           *projections.Projections
	sim             *adapter.Adapter
	dir             string       // the folder of all stored data
	log             *safeBuffer  // the log lines of all parts, at the finest level
	answers         *safeBuffer  // every answer, one a line
	late            atomic.Int64 // seconds that the clock of all parts is ahead
	ready           atomic.Pointer[error]
	silent          atomic.Bool                              // no processor answers
	sentToProcessor atomic.Pointer[string]                   // the newest request, if there is such a page
	actionPage      atomic.Pointer[string]                   // the processors' page for required actions
	forged          atomic.Bool                              // the test signs results that the processor does not have: its books differ
	undecided       atomic.Bool                              // operations that a processor has accepted get no outcome
	cut             atomic.Pointer[func(*http.Request) bool] // requests to processors that are not answered
	random          random                                   // of the commands
}

// random is a source of random bytes. In the middle of a command it can run another request, or
// fail.
type random struct{ before atomic.Pointer[func() error] }

// Read calls the function that is set, once, and then reads.
func (r *random) Read(p []byte) (int, error) {
	if before := r.before.Swap(nil); before != nil {
		if err := (*before)(); err != nil {
			return 0, err
		}
	}
	return rand.Read(p)
}

// processorSecret signs processors' notifications.
var processorSecret = []byte("secret")

// tokenKey signs client tokens.
var tokenKey = bytes.Repeat([]byte{7}, 32)

// newRig starts everything for the test's life; change alters the API's configuration.
func newRig(t testing.TB, change ...func(*httpapi.Config)) *rig {
	t.Helper()
	return newRigWaiting(t, usualTimeout, change...)
}

const (
	// usualTimeout is the payment timeout of tests that do not choose theirs.
	usualTimeout = time.Minute
	// patience is the time-out for results that must come. A good run never reaches it.
	patience = 2 * time.Minute
)

// newRigWaiting is newRig with a payment timeout.
func newRigWaiting(t testing.TB, paymentTimeout time.Duration, change ...func(*httpapi.Config)) *rig {
	t.Helper()
	return newRigWith(t, paymentTimeout, nil, change...)
}

// newRigWith is newRigWaiting with webhooks; nil: none are sent.
func newRigWith(t testing.TB, paymentTimeout time.Duration, hooks *webhooks, change ...func(*httpapi.Config)) *rig {
	t.Helper()
	return newRigIn(t, account.Sandbox, paymentTimeout, hooks, change...)
}

// newRigIn is newRigWith in an environment.
func newRigIn(t testing.TB, environment string, paymentTimeout time.Duration, hooks *webhooks, change ...func(*httpapi.Config)) *rig {
	t.Helper()
	r := &rig{t: t, dir: t.TempDir(), log: &safeBuffer{}, answers: &safeBuffer{}}
	logger := zerolog.New(r.log).Level(zerolog.TraceLevel)
	ctx, stop := context.WithCancel(context.Background())
	events := filepath.Join(r.dir, "events")
	if environment == account.Sandbox {
		r.account = accountstest.Initialized(t, events)
	}
	stored := eventstoretest.Config(eventstoretest.Server(t, events))
	stored.Now, stored.Logger = r.now, logger
	r.store = eventstoretest.OpenOn(t, stored)
	vault := eventstoretest.Secrets(t, r.store)
	r.simulate(logger)
	fanout := eventstore.NewFanout(r.store)
	var err error
	if environment != account.Sandbox {
		r.account, err = accounts.Initialize(ctx, r.store, vault, rand.Reader, environment, "cli:init", nil)
		must(t, err)
	}
	r.views, err = projections.Open(ctx, projections.Config{
		Dir: filepath.Join(r.dir, "views"), Store: r.store, Fanout: fanout, Secrets: vault, Logger: logger, Now: r.now,
	})
	must(t, err)
	r.service = service.New(commands.Config{
		Store: r.store, Secrets: vault, Processors: r.sim, Account: r.views.Account, PaymentAccount: r.views.PaymentAccount,
		NotifyURL:      func(name processor.Name) string { return r.url + "/processors/" + string(name) + "/notifications" },
		ReturnURL:      func() string { return returnURL },
		PaymentTimeout: paymentTimeout, ActionTimeout: time.Hour, ClientTokenTTL: time.Hour, Random: &r.random, Logger: logger,
		Customers: r.views, DisputesBesideRefund: r.views.DisputesBesideRefund,
	})
	var loops sync.WaitGroup
	if hooks != nil { // before the fan-out runs
		hooks.open(ctx, r, fanout, vault, logger)
		loops.Go(func() { run(ctx, t, hooks.notifier.Run) })
		loops.Go(func() { run(ctx, t, hooks.log.Run) })
		loops.Go(func() { run(ctx, t, hooks.engine.Run) })
	}
	loops.Go(func() { run(ctx, t, fanout.Run) })
	loops.Go(func() { run(ctx, t, r.views.Run) })
	t.Cleanup(func() { // before the store closes
		if hooks != nil {
			r.service.Drain()
			hooks.engine.Close()
		}
		r.service.Close()
		stop()
		loops.Wait()
		if hooks != nil {
			must(t, hooks.index.Close())
		}
		must(t, r.views.Close())
		eventjsontest.CheckLog(t, r.store)
		r.reconcile(t)
	})
	must(t, r.views.CaughtUp(ctx))
	r.config = httpapi.Config{
		Proofs:   prover.New(prover.Config{Store: r.store}), // no checkpoint is written
		Commands: r.service, Reader: r.views, Reconciler: reconcile.Reconciler{Store: r.store, Books: r.sim}, History: &history.Reader{Store: r.store, Secrets: vault, Now: r.now},
		ClientTokenKey: tokenKey, PublicURL: "https://pay.example/", Environment: environment, Random: rand.Reader,
		Now: r.now, Logger: logger,
		Notifications: func(name processor.Name, header http.Header, body []byte) (processor.SignedNotification, error) {
			return adapter.ParseNotification(processorSecret, name, header, body)
		},
		Listeners: readers{&listener.Hub{Key: tokenKey}}, WebhookTimeout: 10 * time.Second, ListenerExpiry: time.Minute,
		Ready: func(context.Context) error {
			if e := r.ready.Load(); e != nil {
				return *e
			}
			return nil
		},
		CheckURL: func(ctx context.Context, url string) error {
			switch {
			case strings.Contains(url, "10.0.0.1"):
				return errors.New("must not lead to a private address")
			case strings.Contains(url, "127.9.9.9"): // other loopback addresses are those of the tests' receivers
				return guard.Guard{}.CheckURL(ctx, url)
			}
			return nil
		},
	}
	if hooks != nil {
		r.config.Deliveries, r.config.Workflows = hooks.log, hooks.engine
		r.config.History = &history.Reader{Store: r.store, Secrets: vault, Now: r.now, Deliveries: notifier.NewDeliveryReader(r.store)}
	}
	r.serve(change...)
	return r
}

// reconcile compares the ledger with the books of every processor that was used.
func (r *rig) reconcile(t testing.TB) {
	t.Helper()
	if r.forged.Load() {
		return
	}
	r.silent.Store(false)
	r.cut.Store(nil)
	lines, err := r.sim.Books(context.Background(), adapter.Filter{})
	must(t, err)
	used := map[processor.Name]bool{}
	for _, line := range lines {
		used[line.Processor] = true
	}
	reconciletest.Check(t, r.store, r.sim, used)
}

// now is the clock of all parts.
func (r *rig) now() time.Time { return time.Now().Add(time.Duration(r.late.Load()) * time.Second) }

// simulate starts the processors (D14).
func (r *rig) simulate(logger zerolog.Logger) {
	r.t.Helper()
	dir := filepath.Join(r.dir, "simulator")
	must(r.t, os.Mkdir(dir, 0o700))
	simulator, err := simulator.New(simulator.Config{Dir: dir, Secret: processorSecret, Now: r.now, Log: logger, AfterFunc: r.after})
	must(r.t, err)
	processors := simulator.Handler()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if cut := r.cut.Load(); r.silent.Load() || cut != nil && (*cut)(q) {
			panic(http.ErrAbortHandler)
		}
		if page := r.actionPage.Load(); page != nil {
			body, _ := io.ReadAll(q.Body)
			if q.Method == http.MethodPost {
				r.sentToProcessor.Store(new(string(body)))
			}
			q.Body = io.NopCloser(bytes.NewReader(body))
			w = &withPage{ResponseWriter: w, page: *page}
		}
		processors.ServeHTTP(w, q)
	}))
	r.sim, err = adapter.New(server.URL, nil)
	must(r.t, err)
	r.t.Cleanup(func() {
		r.sim.Close()
		must(r.t, simulator.Close())
		server.Close()
	})
}

// returnURL is where processors send customers after an action on their own page.
const returnURL = "https://pay.example/checkout/challenge/return"

// withPage adds the page of a required action to a processor's answer.
type withPage struct {
	http.ResponseWriter
	page string
}

func (w *withPage) Write(text []byte) (int, error) {
	const state = `"state":"ACTION_REQUIRED"`
	_, err := w.ResponseWriter.Write(bytes.ReplaceAll(text, []byte(state), []byte(state+`,"actionUrl":"`+w.page+`"`)))
	return len(text), err
}

// overdue has every request to a processor take as long as the usual payment timeout, by the clock
// of all parts; those that cut picks are not answered at all.
func (r *rig) overdue(cut func(*http.Request) bool) {
	late := func(q *http.Request) bool {
		r.late.Add(int64(usualTimeout / time.Second))
		return cut(q)
	}
	r.cut.Store(&late)
}

// books returns the processors' lines about a payment, of all payments for "".
func (r *rig) books(id string) []protocol.Line {
	r.t.Helper()
	lines, err := r.sim.Books(context.Background(), adapter.Filter{Reference: domain.PaymentID(id)})
	must(r.t, err)
	return lines
}

func (r *rig) serve(change ...func(*httpapi.Config)) {
	for _, c := range change {
		c(&r.config)
	}
	api, err := httpapi.New(r.config)
	must(r.t, err)
	r.api = api
	server := httptest.NewServer(api)
	transport := &http.Transport{}
	r.t.Cleanup(func() { transport.CloseIdleConnections(); server.Close() })
	r.url, r.client = server.URL, openapitest.Client(r.t, transport)
}

// events counts all events of the log.
func (r *rig) events() uint64 {
	r.t.Helper()
	for shard := range r.store.Shards() {
		_, err := r.store.LastSeq(context.Background(), shard)
		must(r.t, err)
	}
	return r.store.Events()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func run(ctx context.Context, t testing.TB, loop func(context.Context) error) {
	if err := loop(ctx); err != nil && ctx.Err() == nil {
		t.Error(err)
	}
}

// safeBuffer collects log lines.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}
func (b *safeBuffer) String() string { b.mu.Lock(); defer b.mu.Unlock(); return b.b.String() }

// Cards of the simulator's table (D13).
const (
	goodCard     = "4111111111111111"
	declinedCard = "4000000000000002"
)

// expires is a year in which a card is good still.
var expires = strconv.Itoa(time.Now().Year() + 3)

// answer is the answer to a request.
type answer struct {
	status int
	header http.Header
	text   string
	json   map[string]any
}

// request is one call; header "" takes a header away.
type request struct {
	method, path, body string
	header             map[string]string
}

// do makes a call as the merchant, with the headers that all of its calls need.
func (r *rig) do(q request) answer {
	r.t.Helper()
	header := http.Header{"X-Api-Key": {r.account.APIKey}, "X-Api-Version": {"2.4"}}
	if q.body != "" {
		header.Set("Content-Type", "application/json")
	}
	for name, value := range q.header {
		header.Del(name)
		if value != "" {
			header.Set(name, value)
		}
	}
	return r.send(q.method, q.path, header, strings.NewReader(q.body))
}

func (r *rig) send(method, path string, header http.Header, body io.Reader) answer {
	r.t.Helper()
	q, err := http.NewRequest(method, r.url+path, body)
	must(r.t, err)
	q.Header = header
	p, err := r.client.Do(q)
	must(r.t, err)
	defer p.Body.Close()
	text, err := io.ReadAll(p.Body)
	must(r.t, err)
	fmt.Fprintln(r.answers, string(text))
	a := answer{status: p.StatusCode, header: p.Header, text: string(text)}
	if p.Header.Get("Content-Type") == "application/json" {
		must(r.t, json.Unmarshal(text, &a.json))
	}
	if a.errorID() != "" && a.text1("error", "recoverySuggestion") == "" { // D3
		r.t.Errorf("%s %s answers %s without a recoverySuggestion", method, path, a.errorID())
	}
	return a
}

// field follows a path of names into the answer; nil where it ends.
func (a answer) field(names ...string) any {
	var v any = a.json
	for _, name := range names {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

func (a answer) text1(names ...string) string { s, _ := a.field(names...).(string); return s }

func (a answer) errorID() string { return a.text1("error", "errorId") }

// faults returns the violations of the answer as "model path description".
func (a answer) faults() (out []string) {
	groups, _ := a.field("error", "validationErrors").([]any)
	for _, g := range groups {
		group := g.(map[string]any)
		for _, e := range group["errors"].([]any) {
			v := e.(map[string]any)
			out = append(out, group["model"].(string)+" "+v["path"].(string)+" "+v["description"].(string))
		}
	}
	return out
}

// want ends the test at another answer than one of the status and errorId ("" for none).
func (r *rig) want(a answer, status int, errorID string) answer {
	r.t.Helper()
	if a.status != status || a.errorID() != errorID {
		r.t.Fatalf("answered %d %s, want %d %q", a.status, a.text, status, errorID)
	}
	return a
}

// session opens a client session and returns its client token.
func (r *rig) session(body string) string {
	r.t.Helper()
	return r.want(r.do(request{method: "POST", path: "/client-session", body: body}), 200, "").text1("clientToken")
}

// tokenize enters a card in a session and returns its token.
func (r *rig) tokenize(clientToken, number string) string {
	r.t.Helper()
	body := `{"paymentInstrument":{"number":"` + number + `","cvv":"737","expirationMonth":"03","expirationYear":"` + expires + `","cardholderName":"Ada Lovelace"}}`
	return r.want(r.browser(clientToken, body), 200, "").text1("token")
}

// browser calls POST /payment-instruments as the customer's browser.
func (r *rig) browser(clientToken, body string) answer {
	r.t.Helper()
	return r.do(request{method: "POST", path: "/payment-instruments", body: body, header: map[string]string{
		"X-Api-Key": "", "X-Api-Version": "", "X-Client-Token": clientToken,
	}})
}

const someSession = `{"orderId":"order-1","customerId":"customer-7","currencyCode":"EUR","order":{"lineItems":[{"itemId":"a","amount":1000,"quantity":2},{"amount":500,"discountAmount":100,"taxAmount":20}]},` +
	`"customer":{"emailAddress":"ada@example.com","firstName":"Ada"},"metadata":{"shop":"north","attempt":2.0,"gift":true}}`

// after is the simulator's clock: nothing that is accepted is decided while undecided is set.
func (r *rig) after(d time.Duration, f func()) (stop func() bool) {
	if r.undecided.Load() {
		return func() bool { return true }
	}
	return time.AfterFunc(d, f).Stop
}
