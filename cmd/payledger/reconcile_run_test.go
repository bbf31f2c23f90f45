package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/eventstoretest"
	"payledger/processorsim/client"
	"payledger/processorsim/protocol"
)

var (
	reconciled     = flag.Int("reconciled", 0, "how many payments to reconcile (0: a hundred or so)")
	reconciledSeed = flag.Uint64("reconciled-seed", 0, "their seed (0: a new one)")
)

const (
	reconciledDefault = 150
	reconciledShort   = 60
	reconciledAtOnce  = 64
	reconciledSettles = 2 * time.Minute
)

// postman carries processors' notifications to the service: some late, some never.
type postman struct {
	t      *testing.T
	target atomic.Pointer[string]
	lost   atomic.Int64
	late   atomic.Int64
	came   atomic.Int64
	over   chan struct{}
}

func (p *postman) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	p.came.Add(1)
	switch rand.IntN(4) {
	case 0:
		p.lost.Add(1) // the processor believes that it was heard
		return
	case 1:
		p.late.Add(1)
		select {
		case <-time.After(time.Duration(rand.IntN(1500)) * time.Millisecond):
		case <-p.over:
		}
	}
	request, err := http.NewRequestWithContext(r.Context(), r.Method, *p.target.Load()+r.URL.Path, bytes.NewReader(body))
	if err != nil {
		p.t.Error(err)
		return
	}
	request.Header = r.Header.Clone()
	answer, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer answer.Body.Close()
	w.WriteHeader(answer.StatusCode)
}

// reconciling is many payments on one service, and the processors' books.
type reconciling struct {
	*testing.T
	options  Options
	app      *App
	merchant *merchant
	post     *postman
	account  domain.AccountID
	mu       sync.Mutex
	ids      []domain.PaymentID
	disputes []protocol.Dispute // as their processors have them
}

// TestReconcile: payments and disputes whose notifications are duplicated, reordered, late and lost, and some payments
// that somebody else acted on, end as the processors' books say; reconcile finds no difference at the running server and in its folder. Then the
// books are changed, and it names what was (I1, D14).
func TestReconcile(t *testing.T) {
	t.Parallel()
	n, seed := *reconciled, *reconciledSeed
	if n == 0 {
		n = reconciledDefault
		if testing.Short() {
			n = reconciledShort
		}
	}
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("%d payments; again with -reconciled %d -reconciled-seed %d", n, n, seed)
	r := &reconciling{T: t, options: testOptions(t.TempDir()), post: &postman{t: t, over: make(chan struct{})}}
	server := httptest.NewServer(r.post)
	t.Cleanup(server.Close)
	r.options.PublicURL, r.options.DisputeLookup = server.URL, 200*time.Millisecond
	r.start()
	r.play(n, seed)
	r.settle()
	r.settleDisputes()
	r.audit()
	for _, name := range processor.Names {
		r.agrees(name, "--url", r.app.ready().API, "--api-key", r.merchant.key)
	}
	close(r.post.over)
	r.stop()
	for _, name := range processor.Names {
		r.agrees(name, "--data", r.options.Data)
	}
	r.falsify()
}

func (r *reconciling) start() {
	r.Helper()
	app, err := Start(context.Background(), r.options, zerolog.New(zerolog.NewTestWriter(r)).Level(zerolog.ErrorLevel))
	if err != nil {
		r.Fatal(err)
	}
	r.app = app
	if r.merchant == nil {
		r.account, r.merchant = app.credentials.AccountID, newMerchant("", app.credentials.APIKey)
	}
	api := app.ready().API
	r.merchant.api = api
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
	r.merchant.must(r.T, "PUT", "/management/routing", r.merchant.headers(), map[string]any{"rules": rules, "default": []processor.Name{processor.Adyen}})
	rate := 0.3
	for _, fault := range []protocol.Fault{{Mode: protocol.DuplicateNotification, Rate: &rate}, {Mode: protocol.Reorder, Rate: &rate, DelayMs: 700}} {
		if err := r.app.processors.SetFault(context.Background(), fault); err != nil {
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
	"4111111111111111", "4000000000003220", "4000000000005175", "4000000000005126", "4000000000005142", "4000000000005159", "4000000000000002",
}

// live is the story of one payment.
func (r *reconciling) live(i int, random *rand.Rand) {
	card := reconciledCards[random.IntN(len(reconciledCards))]
	got, err := r.merchant.call("POST", "/payments", r.merchant.headers(), map[string]any{
		"paymentMethodToken": r.merchant.token(r.T, fmt.Sprintf("order-%d", i), 2500, card),
		"metadata":           map[string]any{"at": random.IntN(len(processor.Names))},
		"paymentMethod":      map[string]any{"authorizationType": "ESTIMATED"},
	})
	if err != nil || got.status != http.StatusOK {
		r.Errorf("pay: %d %s %v", got.status, got.body, err)
		return
	}
	var paid paymentAnswer
	got.decode(r.T, &paid)
	r.mu.Lock()
	r.ids = append(r.ids, domain.PaymentID(paid.ID))
	r.mu.Unlock()
	ask := func(what string, body map[string]any) {
		got, err := r.merchant.call("POST", "/payments/"+paid.ID+"/"+what, r.merchant.headers(), body)
		if err != nil || got.status >= http.StatusInternalServerError {
			r.Errorf("%s of %s: %d %s %v", what, paid.ID, got.status, got.body, err)
		}
	}
	behind := func(kind processor.Kind) {
		_, _ = r.app.processors.Act(context.Background(), kind, domain.PaymentID(paid.ID), nil) // refused or not: the books tell
	}
	switch random.IntN(6) {
	case 0: // somebody captures; found when the cancellation is refused
		behind(processor.Capture)
		ask("cancel", nil)
	case 1: // somebody refunds what was captured; found when the refund is refused
		ask("capture", nil)
		behind(processor.Refund)
		ask("refund", nil)
	case 2:
		ask("adjust-authorization", map[string]any{"amount": 3000})
		ask("capture", map[string]any{"amount": 1 + random.IntN(2000), "final": random.IntN(2) == 0})
		ask("cancel", nil)
	default:
		ask("capture", map[string]any{"amount": 1 + random.IntN(2000), "final": false})
		ask("capture", nil)
		ask("refund", map[string]any{"amount": 1 + random.IntN(500)})
	}
	if random.IntN(3) == 0 {
		r.dispute(paid.ID, random)
	}
}

func (r *reconciling) atLog(id domain.PaymentID) payment.State {
	r.Helper()
	tip, err := eventstore.LoadTipAtLeader(context.Background(), r.app.ledger.store, eventstore.Payments, eventstore.Payments.Key(r.account, string(id)))
	if err != nil {
		r.Fatal(err)
	}
	return tip.State
}

// settle waits until no outcome is owed, and lets a payment that somebody acted on without being found look once more.
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
	lines, err := r.app.processors.Books(context.Background(), client.Filter{})
	if err != nil {
		r.Fatal(err)
	}
	books, found := map[domain.PaymentID][]protocol.Line{}, 0
	for _, l := range lines {
		books[l.Reference] = append(books[l.Reference], l)
	}
	for _, id := range r.ids {
		p := r.atLog(id)
		if err := eventstoretest.Audit(p, books[id]); err != nil {
			r.Error(err)
		}
		for _, op := range p.Operations {
			if op.FoundID != "" {
				found++
			}
		}
	}
	if found == 0 || r.post.lost.Load() == 0 {
		r.Errorf("%d facts were found, %d notifications lost: nothing was tried", found, r.post.lost.Load())
	}
	r.Logf("%d payments agree with %d operations in the books, %d of them found there", len(r.ids), len(lines), found)
}

// reconciliation is what reconcile --json prints.
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
		Payments, Operations, Records, Open, Disputes int
	} `json:"compared"`
}

// reconcile runs the command and reads what it prints.
func (r *reconciling) reconcile(status int, name processor.Name, args ...string) (got reconciliation) {
	r.Helper()
	exit, out, stderr := invoke(r.T, append([]string{"reconcile", "--json", "--processor", string(name)}, args...)...)
	if exit != status {
		r.Fatalf("reconcile %s %v exits %d, not %d: %s%s", name, args, exit, status, out, stderr)
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || got.Processor != string(name) {
		r.Fatalf("%v: %s", err, out)
	}
	return got
}

// agrees: no difference, after something was compared.
func (r *reconciling) agrees(name processor.Name, args ...string) {
	r.Helper()
	got := r.reconcile(0, name, args...)
	if c := got.Compared; len(got.Differences) != 0 || c.Payments != len(r.ids) || c.Operations == 0 || c.Operations < c.Records || c.Open != 0 || c.Disputes == 0 {
		r.Errorf("%s: %+v", name, got)
	}
}

// falsification changes a record of the books if it is of its sort, and tells at which processor and what its
// difference is named by.
type falsification func(record map[string]any) (processor, named string, done bool)

// ofOperation changes operations.
func ofOperation(edit func(o, answer map[string]any) bool) falsification {
	return func(record map[string]any) (string, string, bool) {
		o, is := record["operation"].(map[string]any)
		if !is || !edit(o, o["answer"].(map[string]any)) {
			return "", "", false
		}
		return o["processor"].(string), o["key"].(string), true
	}
}

func captured(o, answer map[string]any) bool {
	return o["operation"] == "capture" && answer["state"] == "SUCCEEDED"
}

// falsifications are changes of the books, with the difference that they make.
var falsifications = []struct {
	difference string
	alone      bool // nothing else differs then
	edit       falsification
}{
	{"OTHER_AMOUNT", true, ofOperation(func(o, answer map[string]any) bool {
		if !captured(o, answer) || !strings.HasPrefix(o["key"].(string), o["reference"].(string)) {
			return false
		}
		o["amount"] = json.Number(fmt.Sprint(o["amount"], "0"))
		return true
	})},
	{"OTHER_STATE", true, ofOperation(func(o, answer map[string]any) bool {
		if o["operation"] != "authorize" || answer["state"] != "DECLINED" {
			return false
		}
		answer["state"] = "SUCCEEDED"
		return true
	})},
	{"MISSING_HERE", false, ofOperation(func(o, answer map[string]any) bool {
		if !captured(o, answer) || strings.HasPrefix(o["key"].(string), o["reference"].(string)) {
			return false
		}
		o["id"] = "op_" + strings.Repeat("0", 26) // another one than was found: that is missing there, too
		return true
	})},
	{"OTHER_AMOUNT", true, disputedMore}, {"OTHER_STATE", true, disputedOther},
	{"MISSING_THERE", false, disputedElsewhere},
	{"MISSING_HERE", false, func(record map[string]any) (string, string, bool) {
		name, _, done := disputedElsewhere(record)
		return name, noDispute, done
	}},
}

// falsify changes entries of the books, and looks whether each is named.
func (r *reconciling) falsify() {
	r.Helper()
	for _, c := range falsifications {
		restore, name, named := falsifyBooks(r.T, filepath.Join(r.options.Data, simulatorFolder, "books.jsonl"), c.edit)
		for _, at := range []func() []string{
			func() []string { return []string{"--data", r.options.Data} },
			func() []string { r.start(); return []string{"--url", r.app.ready().API, "--api-key", r.merchant.key} },
		} {
			got := r.reconcile(exitFailure, processor.Name(name), at()...)
			if d := got.Differences; len(d) == 0 || c.alone && len(d) > 1 {
				r.Errorf("%s of %s is told as %+v", c.difference, named, d)
			}
			there := false
			for _, d := range got.Differences {
				there = there || d.Difference == c.difference && (d.Key == named || d.DisputeID == named)
			}
			if !there {
				r.Errorf("%s of %s is not among %+v", c.difference, named, got.Differences)
			}
		}
		r.stop()
		restore()
	}
	r.agrees(processor.Adyen, "--data", r.options.Data)
}

// falsifyBooks changes the first record in the file that edit takes; restore puts the file back.
func falsifyBooks(t *testing.T, file string, edit falsification) (restore func(), processor, named string) {
	t.Helper()
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var after bytes.Buffer
	changed := false
	for line := range bytes.Lines(before) {
		record := map[string]any{}
		decoder := json.NewDecoder(bytes.NewReader(line))
		decoder.UseNumber()
		if err := decoder.Decode(&record); err != nil {
			t.Fatal(err)
		}
		if !changed {
			if processor, named, changed = edit(record); changed {
				if line, err = json.Marshal(record); err != nil {
					t.Fatal(err)
				}
				line = append(line, '\n')
			}
		}
		after.Write(line)
	}
	if !changed {
		t.Fatal("nothing in the books can be changed so")
	}
	write := func(text []byte) {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(after.Bytes())
	return func() { write(before) }, processor, named
}
