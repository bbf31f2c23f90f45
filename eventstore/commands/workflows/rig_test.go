package workflows_test

import (
	"context"
	"crypto/rand"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/domain/session"
	"payledger/domain/workflow"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/accounts/accountstest"
	"payledger/eventstore/commands/instruments"
	"payledger/eventstore/commands/payments"
	"payledger/eventstore/commands/service"
	"payledger/eventstore/commands/sessions"
	"payledger/eventstore/commands/workflows"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/secrets"
	"payledger/notifier"
	"payledger/processorsim/adapter"
	"payledger/processorsim/protocol"
	"payledger/processorsim/simulator"
	"payledger/projections"
)

var background = context.Background()

// patience is the longest wait for an expected result; a good run never takes it.
const patience = 2 * time.Minute

func TestMain(m *testing.M) {
	flag.Parse()
	eventstoretest.AtOnce(12, 3)
	m.Run()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// rig is a cluster, a simulator and a receiver of requests; nodes come and go.
type rig struct {
	t      testing.TB
	config engine.Config // of stores
	sim    *adapter.Adapter
	by     commands.Caller
	well   *node         // it takes no runs, and owns all shards
	ahead  time.Duration // of the clock of live

	url      string // of the receiver
	mu       sync.Mutex
	requests map[string]int // by Idempotency-Key
	hooks    []string       // bodies of webhooks
	status   int            // that the receiver answers
	held     chan struct{}  // the receiver answers when it closes; nil: at once. Set it before a node starts
}

// hookPath is where webhooks go.
const hookPath = "/hook"

func newRig(t testing.TB) *rig {
	t.Helper()
	r := &rig{t: t, config: eventstoretest.Cluster(t), requests: map[string]int{}, status: 200}
	simulator, err := simulator.New(simulator.Config{Dir: t.TempDir(), Secret: []byte("secret")})
	must(t, err)
	web, receiver := httptest.NewServer(simulator.Handler()), httptest.NewServer(http.HandlerFunc(r.receive))
	t.Cleanup(func() { must(t, simulator.Close()); web.Close(); receiver.Close() })
	r.url = receiver.URL
	r.sim, err = adapter.New(web.URL, nil)
	must(t, err)
	r.well = r.start(nodeConfig{idle: true})
	eventstoretest.Own(t, r.well.store)
	made := accountstest.Initialize(t, r.well.store, r.well.vault)
	r.by = commands.Caller{Account: made.AccountID, Actor: "test", RequestID: "request"}
	return r
}

func (r *rig) receive(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return // cut by a crash
	}
	if status := r.note(q, string(body)); status > 0 {
		if r.held != nil {
			<-r.held
		}
		w.WriteHeader(status)
	}
}

// note notes a request, and returns the status of its answer; 0 for a webhook.
func (r *rig) note(q *http.Request, body string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if q.URL.Path == hookPath {
		r.hooks = append(r.hooks, body)
		return 0
	}
	r.requests[q.Header.Get("Idempotency-Key")]++
	return r.status
}

// came counts the requests, and how many were other than the first of their key.
func (r *rig) came() (keys, again int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.requests {
		again += n - 1
	}
	return len(r.requests), again
}

// nodeConfig holds a node's differences from the default.
type nodeConfig struct {
	idle     bool // it takes no runs
	shared   bool // it is not alone
	fault    *fault
	now      func() time.Time // of its engine; nil: as it is
	patience time.Duration    // with events that cannot be read; 0: as it is
	subjects func(workflows.Subjects) workflows.Subjects
	lost     func() uint64
	left     func(command string) bool
}

// sender is the owner of the webhooks of one node, about which these tests are not.
type sender struct{}

func (sender) Holder() (string, error) { return "node", nil }
func (sender) Gone(string) bool        { return false }
func (sender) Plans(string) bool       { return true }

// node is a process on the rig's log, with all that runs need.
type node struct {
	*service.Service
	rig    *rig
	store  *engine.Store
	vault  *secrets.Store
	engine *workflows.Engine
	views  *projections.Projections
	wire   *faultyConn
	stop   context.CancelFunc
	loops  sync.WaitGroup
	ended  sync.Once
}

// start starts a node; it ends with the test, or before.
func (r *rig) start(c nodeConfig) *node {
	r.t.Helper()
	n := &node{rig: r, wire: &faultyConn{fault: c.fault}}
	if r.well != nil {
		n.wire.log = r.well.store
	}
	config := r.config
	config.Options = []nats.Option{nats.SetCustomDialer(n.wire)}
	var err error
	n.store, err = engine.Open(background, config)
	must(r.t, err)
	n.vault = eventstoretest.Secrets(r.t, n.store)
	n.Service = service.New(commands.Config{
		Store: refusing{n.store, c.fault}, Secrets: n.vault, Processors: port{r.sim, n.wire}, PaymentTimeout: 20 * time.Second, ActionTimeout: time.Hour,
		ClientTokenTTL: time.Hour, Random: rand.Reader, Logger: zerolog.Nop(), Account: n.account,
		PaymentAccount: func(context.Context, domain.PaymentID) (domain.AccountID, bool, error) {
			return r.by.Account, true, nil
		},
	})
	ctx, stop := context.WithCancel(background)
	n.stop = stop
	if !c.idle {
		n.run(ctx, c)
	}
	r.t.Cleanup(n.end)
	return n
}

func (n *node) account(id domain.AccountID) (account.State, bool) {
	tip, err := eventstore.Load(background, n.store, eventstore.Accounts, eventstore.Accounts.Key(id, string(id)), eventstore.Applied)
	return tip.State, err == nil && tip.State.Exists()
}

// run starts the parts that carry out runs: views, the notifier for its ports, the engine.
func (n *node) run(ctx context.Context, c nodeConfig) {
	t := n.rig.t
	fanout := eventstore.NewFanout(n.store)
	var err error
	n.views, err = projections.Open(ctx, projections.Config{
		Dir: t.TempDir(), Store: n.store, Fanout: fanout, Secrets: n.vault, Logger: zerolog.Nop(), Now: time.Now,
	})
	must(t, err)
	notifications, err := notifier.New(ctx, notifier.Config{
		Store: n.store, Fanout: fanout, Secrets: n.vault, Views: n.views, Now: time.Now, Random: rand.Reader, Logger: zerolog.Nop(),
		AllowCIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Nodes: sender{},
	})
	must(t, err)
	ofPayments, ofDisputes, err := notifier.Compilers()
	must(t, err)
	subjects := workflows.Subjects(notifications.Workflows())
	if c.subjects != nil {
		subjects = c.subjects(subjects)
	}
	if c.now == nil {
		c.now = time.Now
	}
	n.engine, err = workflows.New(ctx, workflows.Config{
		Store: refusing{n.store, c.fault}, Compiler: ofPayments, DisputeCompiler: ofDisputes, Subjects: subjects,
		Requests: requests{notifications.Workflows(), n.wire}, Payments: n.Service, Now: c.now, Logger: zerolog.Nop(), Alone: !c.shared,
		OpenRuns: n.views, SweepEvery: 300 * time.Millisecond, Left: c.left, Lost: c.lost,
	})
	must(t, err)
	n.engine.SaveOften()
	if c.patience > 0 {
		n.engine.SetPatience(c.patience)
	}
	n.engine.Act()
	for _, loop := range []func(context.Context) error{fanout.Run, n.views.Run, notifications.Run, n.engine.Run} {
		n.loops.Go(func() { _ = loop(ctx) }) // a node that is killed has errors
	}
}

// end ends the node in order.
func (n *node) end() {
	n.ended.Do(func() {
		n.Drain()
		if n.engine != nil {
			n.engine.Close()
		}
		n.close()
	})
}

// kill ends the node: nothing of it reaches the log, a processor or a receiver any more.
func (n *node) kill() {
	n.ended.Do(func() {
		n.wire.cut()
		n.close()
	})
}

func (n *node) close() {
	n.stop()
	if err := n.store.Close(); err != nil {
		n.rig.t.Error(err)
	}
	n.Service.Close()
	n.loops.Wait()
	if n.views != nil {
		if err := n.views.Close(); err != nil {
			n.rig.t.Error(err)
		}
	}
}

// workflow makes a workflow that AUTHORIZED starts unless it says otherwise.
func (r *rig) workflow(d workflow.Definition) workflow.Workflow {
	r.t.Helper()
	d.Name = "test"
	if d.Condition == "" {
		d.Condition = "payment.amount == 2500"
	}
	if d.Trigger.EventType == "" {
		d.Trigger = onAuthorized
	}
	made, err := r.well.CreateWorkflow(background, r.by, "", d, true)
	must(r.t, err)
	return made
}

// pay makes a payment of 25.00 EUR.
func (r *rig) pay() payment.State {
	r.t.Helper()
	return r.payWith(approved, r.by)
}

// approved is a card that is approved. asyncCapture is a card whose captures, and refunds that
// fail, are PENDING at first.
const (
	approved     = "4111111111111111"
	asyncCapture = "4000000000005175"
	refundFails  = "4000000000005126"
)

func (r *rig) payWith(card string, by commands.Caller) payment.State {
	r.t.Helper()
	paid := r.create(card, by)
	if paid.Status() != payment.StatusAuthorized {
		r.t.Fatalf("the payment is %s", paid.Status())
	}
	return paid
}

// create makes a payment, with any outcome.
func (r *rig) create(card string, by commands.Caller) payment.State {
	r.t.Helper()
	amount := domain.Amount(2500)
	id, err := eventstore.NewUUID(r.well.Random)
	must(r.t, err)
	opened, err := r.well.CreateSession(background, r.by, domain.SessionID(id), sessions.SessionInput{Fields: session.Fields{OrderID: "order-1", Currency: "EUR", Amount: &amount}})
	must(r.t, err)
	made, err := r.well.Tokenize(background, r.by, instruments.TokenizeInput{Session: opened.ID, Card: processor.Card{
		Number: card, CVV: "737", ExpirationMonth: "03", ExpirationYear: "2099", CardholderName: "Ada Lovelace",
	}})
	must(r.t, err)
	paid, err := r.well.CreatePayment(background, by, payments.PaymentInput{Token: made.Token})
	must(r.t, err)
	return paid
}

// runOf is the id of the run that a payment's authorization starts.
func (r *rig) runOf(w workflow.Workflow, p payment.State) domain.RunID {
	return domain.NewRunID(r.by.Account, w.ID, p.Authorization().Answer().EventID)
}

// over waits until a run is over, and returns it with its history.
func (r *rig) over(id domain.RunID) (workflow.RunState, []*eventstore.Recorded) {
	r.t.Helper()
	key := eventstore.WorkflowRuns.Key(r.by.Account, string(id))
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-tick.C {
		tip, err := eventstore.Load(background, r.well.store, eventstore.WorkflowRuns, key, eventstore.Latest)
		must(r.t, err)
		if tip.State.Exists() && !tip.State.Open() {
			events, err := r.well.store.History(background, key)
			must(r.t, err)
			return tip.State, events
		}
	}
	tip, err := eventstore.Load(background, r.well.store, eventstore.WorkflowRuns, key, eventstore.Latest)
	r.t.Fatalf("the run is not over: %+v %v", tip.State, err)
	return workflow.RunState{}, nil
}

// books returns the payment's operations and their states.
func (r *rig) books(id domain.PaymentID) string {
	r.t.Helper()
	lines, err := r.sim.Books(background, adapter.Filter{Reference: id})
	must(r.t, err)
	return operationsText(lines)
}

func operationsText(lines []protocol.Line) string {
	var got []string
	for _, l := range lines {
		got = append(got, string(l.Operation)+" "+string(l.State))
	}
	return strings.Join(got, ", ")
}
