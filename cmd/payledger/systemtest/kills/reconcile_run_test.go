//go:build system

package kills

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/options"
	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/domain/seedtest"
	"payledger/eventstore"
	"payledger/eventstore/commands/commandstest"
	"payledger/processorsim/adapter"
	"payledger/processorsim/protocol"
)

var reconciled = flag.Int("reconciled", 0, "how many payments to reconcile (0: a hundred or so)")

const (
	reconciledDefault = 150
	reconciledShort   = 60
	reconciledAtOnce  = 64
	reconciledSettles = 2 * time.Minute
)

// postman carries processors' notifications to the service: some late, some never. The seed, the
// payment's number and the operation decide, so that the same seed loses the same notifications.
type postman struct {
	t      *testing.T
	seed   uint64
	target atomic.Pointer[string]
	lost   atomic.Int64
	late   atomic.Int64
	came   atomic.Int64
	over   chan struct{}

	mu      sync.Mutex
	numbers map[domain.PaymentID]int // of the payments
	seen    map[string]int           // how often each was carried
}

// random is where the fate of a notification comes from: of a dispute's by its place among those of
// its payment.
func (p *postman) random(body []byte) *rand.Rand {
	var request struct {
		Reference domain.PaymentID    `json:"reference"`
		Key       domain.OperationKey `json:"idempotencyKey"`
	}
	if err := json.Unmarshal(body, &request); err != nil {
		p.t.Error(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	number, known := p.numbers[request.Reference]
	if !known {
		p.t.Errorf("a notification of nobody: %s", body)
	}
	name := fmt.Sprint(number, strings.TrimPrefix(string(request.Key), string(request.Reference)))
	p.seen[name]++
	hash := fnv.New64a()
	fmt.Fprint(hash, name, "/", p.seen[name])
	return rand.New(rand.NewPCG(p.seed, hash.Sum64()))
}

// expects sets the number of a payment.
func (p *postman) expects(id domain.PaymentID, number int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.numbers[id] = number
}

func (p *postman) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	p.came.Add(1)
	random := p.random(body)
	switch random.IntN(4) {
	case 0:
		p.lost.Add(1) // the processor gets a success
		return
	case 1:
		p.late.Add(1) // and the sender believes that this one arrived
		go func() {
			select {
			case <-time.After(time.Duration(random.IntN(1500)) * time.Millisecond):
			case <-p.over:
			}
			_, _ = p.carry(context.Background(), r, body) // the caller is gone
		}()
		return
	}
	status, err := p.carry(r.Context(), r, body)
	if err != nil {
		status = http.StatusBadGateway
	}
	w.WriteHeader(status)
}

// carry delivers a notification.
func (p *postman) carry(ctx context.Context, r *http.Request, body []byte) (int, error) {
	request, err := http.NewRequestWithContext(ctx, r.Method, *p.target.Load()+r.URL.Path, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header = r.Header.Clone()
	answer, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}

// reconciling is many payments on one service, and the processors' books.
type reconciling struct {
	*testing.T
	options  options.Options
	app      *app.App
	merchant *apptest.Merchant
	post     *postman
	account  domain.AccountID
	mu       sync.Mutex
	ids      []domain.PaymentID
	disputes []protocol.Dispute // as their processors have them
}

// TestReconcile plays payments and disputes in several currencies, at all processors. Notifications
// are duplicated, reordered, late and lost, and some payments have out-of-band operations. All end
// with the state of the processors' books. reconcile finds no difference at the running server and
// in its folder, and the exported entries add up to the books. Then the books are changed, and
// reconcile names each change (I1, D14).
func TestReconcile(t *testing.T) {
	t.Parallel()
	n, seed := *reconciled, seedtest.Seed(t)
	if n == 0 {
		n = reconciledDefault
		if testing.Short() {
			n = reconciledShort
		}
	}
	t.Logf("%d payments", n)
	r := &reconciling{T: t, options: apptest.TestOptions(t.TempDir()), post: &postman{
		t: t, seed: seed, over: make(chan struct{}), numbers: map[domain.PaymentID]int{}, seen: map[string]int{},
	}}
	server := httptest.NewServer(r.post)
	t.Cleanup(server.Close)
	r.options.PublicURL, r.options.DisputeLookup = server.URL, 200*time.Millisecond
	r.start()
	r.merchant.Patience = new(atomic.Int64)
	r.merchant.Patience.Store(int64(n))
	r.play(n, seed)
	r.settle()
	r.settleDisputes()
	r.audit()
	running := []string{"--url", r.app.Ready().API, "--api-key", r.merchant.Key}
	r.awaitJudged(running...)
	r.agree(running...)
	close(r.post.over)
	booked := r.booked()
	r.stop()
	r.agree("--data", r.options.Data)
	r.entries(booked)
	r.falsify()
}

func (r *reconciling) start() {
	r.Helper()
	app, err := app.Start(context.Background(), r.options, zerolog.New(zerolog.NewTestWriter(r)).Level(zerolog.ErrorLevel))
	if err != nil {
		r.Fatal(err)
	}
	r.app = app
	if r.merchant == nil {
		r.account, r.merchant = app.Credentials.AccountID, apptest.NewMerchant("", app.Credentials.APIKey)
	}
	api := app.Ready().API
	r.merchant.API = api
	r.post.target.Store(&api)
}

func (r *reconciling) stop() {
	r.Helper()
	if err := r.app.Stop(); err != nil {
		r.Fatal(err)
	}
}

// play makes the payments, many at once, at all processors.
func (r *reconciling) play(n int, seed uint64) {
	r.Helper()
	var rules []map[string]any
	for i, name := range processor.Names {
		rules = append(rules, map[string]any{"name": string(name), "when": map[string]any{"metadata": map[string]any{"at": i}}, "processors": []processor.Name{name}})
	}
	r.merchant.Must(r.T, "PUT", "/management/routing", r.merchant.Headers(), map[string]any{"rules": rules, "default": []processor.Name{processor.Adyen}})
	rate := 0.3
	for _, fault := range []protocol.Fault{{Mode: protocol.DuplicateNotification, Rate: &rate}, {Mode: protocol.Reorder, Rate: &rate, DelayMs: 700}} {
		if err := r.app.Processors.Control().SetFault(context.Background(), fault); err != nil {
			r.Fatal(err)
		}
	}
	began := time.Now()
	var next atomic.Int64
	var running sync.WaitGroup
	for range reconciledAtOnce {
		running.Go(func() {
			for i := next.Add(1) - 1; i < int64(n) && !r.Failed(); i = next.Add(1) - 1 {
				r.live(int(i), rand.New(rand.NewPCG(seed, uint64(i))))
			}
		})
	}
	running.Wait()
	if r.Failed() {
		r.FailNow()
	}
	r.Logf("%d payments played in %s", n, time.Since(began).Round(time.Millisecond))
}

// reconciledCards answer later in one way or another, but for the first (D13).
var reconciledCards = []string{
	"4111111111111111", "4000000000003220", "4000000000005175", "4000000000005126", "4000000000005142", "4000000000005159",
}

// reconciledCurrencies have two, three and no decimal digits (§6.4).
var reconciledCurrencies = []string{"EUR", "JPY", "USD", "KRW", "BHD"}

// tale is the story of one payment under way.
type tale struct {
	*reconciling
	id     domain.PaymentID
	round  int
	random *rand.Rand
}

// live creates one payment and plays its story. Its number selects the story and the processor, so
// that each occurs, and the card of every third round; the rest is random.
func (r *reconciling) live(i int, random *rand.Rand) {
	round := i / len(reconciledStories)
	card := reconciledCards[random.IntN(len(reconciledCards))]
	switch {
	case i%10 == 9:
		card = apptest.DeclinedCard
	case round%3 == 0:
		card = reconciledCards[0]
	}
	key := fmt.Sprint("reconciled-", i)
	header := r.merchant.Headers()
	header["X-Idempotency-Key"] = key
	r.post.expects(domain.PaymentIDForKey(r.account, key), i)
	currency := reconciledCurrencies[random.IntN(len(reconciledCurrencies))]
	got, err := r.merchant.Call("POST", "/payments", header, map[string]any{
		"paymentMethodToken": r.merchant.TokenIn(r.T, currency, fmt.Sprintf("order-%d", i), 2500, card),
		"metadata":           map[string]any{"at": round % len(processor.Names)},
		"paymentMethod":      map[string]any{"authorizationType": "ESTIMATED"},
	})
	if err != nil || got.Status != http.StatusOK {
		r.Errorf("pay: %d %s %v", got.Status, got.Body, err)
		return
	}
	var paid apptest.PaymentAnswer
	got.Decode(r.T, &paid)
	one := tale{r, domain.PaymentID(paid.ID), round, random}
	r.mu.Lock()
	r.ids = append(r.ids, one.id)
	r.mu.Unlock()
	reconciledStories[i%len(reconciledStories)](one)
	if i%2 == 0 {
		r.dispute(paid.ID, random)
	}
}

// ask makes a call on the payment. The story allows a refusal.
func (l tale) ask(what string, body map[string]any) {
	got, err := l.merchant.Call("POST", "/payments/"+string(l.id)+"/"+what, l.merchant.Headers(), body)
	if err != nil || got.Status >= http.StatusInternalServerError {
		l.Errorf("%s of %s: %d %s %v", what, l.id, got.Status, got.Body, err)
	}
}

// behind acts at the processor, on a part of at most so many units, or on all.
func (l tale) behind(kind processor.Kind, part int64) {
	var amount *domain.Amount
	if part > 0 {
		amount = new(domain.Amount(1 + l.random.Int64N(part)))
	}
	_, _ = l.app.Processors.Control().Act(context.Background(), kind, l.id, amount) // the books show whether it was refused
}

// reconciledStories: an out-of-band operation is found when our own next operation is refused
// (§6.3).
var reconciledStories = []func(tale){
	func(l tale) { l.behind(processor.Capture, 0); l.ask("cancel", nil) },
	func(l tale) { l.behind(processor.Capture, 2000); l.ask("capture", nil) },
	func(l tale) { l.behind(processor.Void, 0); l.ask("capture", nil) },
	func(l tale) {
		l.ask("capture", map[string]any{"amount": 1000, "final": false})
		l.behind(processor.Void, 0)
		l.ask("cancel", nil) // a capture is not sent while the first is pending
	},
	func(l tale) { l.ask("capture", nil); l.behind(processor.Refund, 0); l.ask("refund", nil) },
	func(l tale) { l.ask("capture", nil); l.behind(processor.Refund, 2000); l.ask("refund", nil) },
	func(l tale) {
		l.ask("adjust-authorization", map[string]any{"amount": 3000})
		l.ask("capture", map[string]any{"amount": 1 + l.random.IntN(2000), "final": l.round%2 == 1})
		l.ask("cancel", nil)
	},
	func(l tale) {
		l.ask("capture", map[string]any{"amount": 1 + l.random.IntN(2000), "final": false})
		l.ask("capture", nil)
		l.ask("refund", map[string]any{"amount": 1 + l.random.IntN(500)})
	},
}

func (r *reconciling) atLog(id domain.PaymentID) payment.State {
	r.Helper()
	tip, err := eventstore.Load(context.Background(), r.app.Ledger.Store, eventstore.Payments, eventstore.Payments.Key(r.account, string(id)), eventstore.Latest)
	if err != nil {
		r.Fatal(err)
	}
	return tip.State
}

// settle waits until every operation has its outcome. A payment with an unknown out-of-band
// operation is looked up once more.
func (r *reconciling) settle() {
	r.Helper()
	began := time.Now()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	left := r.ids
	for ; ; <-tick.C {
		var open []domain.PaymentID
		for _, id := range left {
			if waiting(r.atLog(id)) {
				open = append(open, id)
			}
		}
		if left = open; len(left) == 0 {
			r.Logf("everything settled %s later; of %d notifications %d were lost and %d late", time.Since(began).Round(time.Millisecond),
				r.post.came.Load(), r.post.lost.Load(), r.post.late.Load())
			return
		}
		if time.Since(began) > reconciledSettles {
			r.Fatalf("%d payments are stuck: %+v", len(left), r.atLog(left[0]).Operations)
		}
	}
}

// audit compares every payment with the books.
func (r *reconciling) audit() {
	r.Helper()
	lines, err := r.app.Processors.Control().Books(context.Background(), adapter.Filter{})
	if err != nil {
		r.Fatal(err)
	}
	books, found := map[domain.PaymentID][]protocol.Line{}, map[string]int{}
	for _, l := range lines {
		books[l.Reference] = append(books[l.Reference], l)
	}
	for _, id := range r.ids {
		p := r.atLog(id)
		if err := commandstest.Audit(p, books[id]); err != nil {
			r.Error(err)
		}
		for _, op := range p.Whole().Operations {
			if op.OutOfBandID != "" {
				found[sortOf(op)]++
			}
		}
	}
	for _, sort := range []string{"capture", "capture of a part", "void", "void of a part", "refund", "refund of a part"} {
		if found[sort] == 0 {
			r.Errorf("no %s was found: %v", sort, found)
		}
	}
	if r.post.lost.Load() == 0 {
		r.Error("no notification was lost")
	}
	r.Logf("%d payments agree with %d operations in the books; found there: %v", len(r.ids), len(lines), found)
}

// sortOf names an out-of-band operation: all of 2500, or a part.
func sortOf(op payment.Operation) string {
	if op.Amount == 2500 {
		return string(op.Kind)
	}
	return string(op.Kind) + " of a part"
}

// reconciliation is the output of reconcile --json.
type reconciliation struct {
	Processor   string `json:"processor"`
	Differences []struct {
		Difference  string `json:"difference"`
		PaymentID   string `json:"paymentId"`
		Operation   string `json:"operation"`
		Key         string `json:"idempotencyKey"`
		OperationID string `json:"processorOperationId"`
		DisputeID   string `json:"processorDisputeId"`
		Here, There *struct {
			Amount int64  `json:"amount"`
			State  string `json:"state"`
		}
	} `json:"differences"`
	Compared struct {
		Payments, Operations, Records, Open, Fresh, Disputes int
	} `json:"compared"`
}

// reconcile runs the command and reads its output.
func (r *reconciling) reconcile(status int, name processor.Name, args ...string) (got reconciliation) {
	r.Helper()
	exit, out, stderr := apptest.Invoke(r.T, append([]string{"reconcile", "--json", "--processor", string(name)}, args...)...)
	if exit != status {
		r.Fatalf("reconcile %s %v exits %d, not %d: %s%s", name, args, exit, status, out, stderr)
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || got.Processor != string(name) {
		r.Fatalf("%v: %s", err, out)
	}
	return got
}

// awaitJudged waits until nothing is too fresh to judge: lost notifications about a dispute are
// queried later.
func (r *reconciling) awaitJudged(args ...string) {
	r.Helper()
	for _, name := range processor.Names {
		apptest.Until(r.T, apptest.SettleDeadline, string(name)+" has nothing open or too fresh", func() (bool, string) {
			c := r.reconcile(0, name, args...).Compared
			return c.Open == 0 && c.Fresh == 0, fmt.Sprintf("%+v", c)
		})
	}
}

// agree checks that no processor has a difference, and that something was compared.
func (r *reconciling) agree(args ...string) {
	r.Helper()
	disputes := 0
	for _, name := range processor.Names {
		got := r.reconcile(0, name, args...)
		c := got.Compared
		if len(got.Differences) != 0 || c.Payments != len(r.ids) || c.Records == 0 || c.Operations < c.Records || c.Open != 0 || c.Fresh != 0 {
			r.Errorf("%s: %+v", name, got)
		}
		disputes += c.Disputes
	}
	if disputes < len(r.disputes) || len(r.disputes) == 0 {
		r.Errorf("%d notifications about %d disputes were compared", disputes, len(r.disputes))
	}
}
