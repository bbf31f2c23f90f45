//go:build system

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// load is the clients of a trial, with everything that they requested and were answered.
type load struct {
	t            testing.TB
	key, account string
	seed         uint64
	token        string // a vaulted card
	began        time.Time
	ctx          context.Context // ends with the load
	cancel       context.CancelFunc
	clients      sync.WaitGroup
	http         *http.Client

	mu       sync.Mutex
	urls     []string // of the API nodes
	changed  []int    // acknowledged changes, by API node
	answers  map[string]int
	requests int
	active   []*paid
	payments []*paid
	known    map[string]*paid // by id
	made     int              // payments that were begun
	waits    []wait
}

// wait is the time from a client's first attempt to its answer, over all attempts.
type wait struct{ from, to time.Duration }

// paid is one payment with its history.
type paid struct {
	id     string
	order  string
	create *call
	calls  []*call // of others than create
	begun  int
}

// call is a request of a client, with the attempts that repeated it under the same key.
type call struct {
	client   int
	kind     string // create, capture, refund, cancel or get
	key      string
	amount   int64
	from, to time.Duration // of the last attempt
	first    time.Duration // begin of the first attempt
	fate     fate
	reason   string // of a refusal
	saw      money  // of an answer
	status   string
	late     bool // the answer came before the outcome
	claims   bool // an answer said that nothing was recorded
}

// fate is the client's knowledge about a call.
type fate int

const (
	unknown  fate = iota // no answer, or a 503 that leaves it open
	done                 // 200
	refused              // by a rule
	repeated             // an earlier attempt was recorded
	nothing              // nothing was recorded
)

const (
	clients     = 6
	paymentSize = 100_000
	activeSize  = 4
	paymentLife = 40              // requests to one payment
	patient     = 8 * time.Second // of one attempt
	retryPause  = 100 * time.Millisecond
)

func newLoad(t testing.TB, c *cluster, seed uint64) *load {
	l := &load{
		t: t, key: c.settings.Credentials.APIKey, account: c.settings.Credentials.AccountID, seed: seed, began: time.Now(),
		changed: make([]int, len(c.apis)), answers: map[string]int{}, known: map[string]*paid{},
		http: &http.Client{Timeout: patient, Transport: &http.Transport{MaxIdleConnsPerHost: 16}},
	}
	for _, a := range c.apis {
		l.urls = append(l.urls, a.url)
	}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	t.Cleanup(l.stop)
	l.vault()
	return l
}

// vault makes a token that pays again and again.
func (l *load) vault() {
	l.t.Helper()
	must := func(path string, header http.Header, body string) (v map[string]any) {
		l.t.Helper()
		status, text, err := l.send(0, http.MethodPost, path, header, body)
		if err != nil || status != http.StatusOK || json.Unmarshal(text, &v) != nil {
			l.t.Fatalf("%s: %d %s %v", path, status, text, err)
		}
		return v
	}
	session := must("/client-session", nil, `{"orderId":"vault","currencyCode":"EUR","amount":100}`)
	card := fmt.Sprintf(`{"paymentInstrument":{"number":"4111111111111111","cvv":"123","expirationMonth":"12","expirationYear":"%d","cardholderName":"Ada Lovelace"}}`, time.Now().Year()+3)
	tool := must("/payment-instruments", http.Header{"X-Client-Token": {fmt.Sprint(session["clientToken"])}}, card)
	l.token = fmt.Sprint(tool["token"])
	must("/payment-instruments/"+l.token+"/vault", nil, `{"customerId":"customer-1"}`)
}

// send sends one request to an API node, once.
func (l *load) send(node int, method, path string, header http.Header, body string) (status int, text []byte, err error) {
	status, text, _, err = l.exchange(node, method, path, header, body)
	return status, text, err
}

// exchange is send that also returns the header Payledger-Lag of the answer.
func (l *load) exchange(node int, method, path string, header http.Header, body string) (status int, text []byte, lag string, err error) {
	l.mu.Lock()
	url := l.urls[node]
	l.mu.Unlock()
	request, err := http.NewRequestWithContext(context.Background(), method, url+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, "", err
	}
	request.GetBody = nil // the client must not repeat it by itself
	request.Header = http.Header{"X-Api-Key": {l.key}, "X-Api-Version": {"2.4"}}
	maps.Copy(request.Header, header)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	answer, err := l.http.Do(request)
	if err != nil {
		l.count("no answer")
		return 0, nil, "", err
	}
	defer answer.Body.Close()
	if text, err = io.ReadAll(answer.Body); err != nil {
		l.count("no answer")
		return 0, nil, "", err
	}
	l.count(fmt.Sprint(answer.StatusCode))
	return answer.StatusCode, text, answer.Header.Get("Payledger-Lag"), nil
}

func (l *load) count(answer string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests++
	l.answers[answer]++
}

// counted returns the requests by answer.
func (l *load) counted() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := fmt.Sprintf("%d requests", l.requests)
	for _, answer := range slices.Sorted(maps.Keys(l.answers)) {
		text += fmt.Sprintf(", %s: %d", answer, l.answers[answer])
	}
	return text
}

func (l *load) now() time.Duration { return time.Since(l.began) }

func (l *load) setURL(node int, url string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.urls[node] = url
}

// changes returns the acknowledged changes by API node.
func (l *load) changes() []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.changed)
}

func (l *load) start() {
	for client := range clients {
		l.clients.Go(func() { l.client(client) })
	}
}

// stop ends the clients after the answers to their requests.
func (l *load) stop() {
	l.cancel()
	l.clients.Wait()
}

// client sends one request after the other until the load ends.
func (l *load) client(client int) {
	c := &caller{l: l, client: client, node: client % len(l.urls), random: rand.New(rand.NewPCG(l.seed, uint64(client)+1))}
	for l.ctx.Err() == nil {
		p := l.pick(c.random)
		c.node = c.random.IntN(len(l.urls))
		switch n := c.random.IntN(100); {
		case p == nil:
			c.create()
		case n < 30:
			c.get(p)
		case n < 34:
			c.list("limit=5", nil) // the newest
		case n < 38:
			c.list("order_id="+p.order, p)
		case n < 70:
			c.change(p, "capture", 1+c.random.Int64N(paymentSize/4))
		case n < 96:
			c.change(p, "refund", 1+c.random.Int64N(paymentSize/6))
		default:
			c.change(p, "cancel", 0)
		}
		c.rest(*faultPause)
	}
}

// pick returns an active payment, or nil if a new one should be created.
func (l *load) pick(random *rand.Rand) *paid {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active = slices.DeleteFunc(l.active, func(p *paid) bool { return p.begun >= paymentLife })
	i := random.IntN(activeSize)
	if i >= len(l.active) {
		return nil
	}
	l.active[i].begun++
	return l.active[i]
}

// note adds a call with its answer to a payment's history.
func (l *load) note(p *paid, c *call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p.calls = append(p.calls, c)
}

// longestWait returns the longest part of a client's wait within a fault.
func (l *load) longestWait(f fault) (longest time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.waits {
		longest = max(longest, min(w.to, f.to)-max(w.from, f.from))
	}
	return longest
}

// caller is one client, which goes to the next API node when one does not serve it.
type caller struct {
	l            *load
	client, node int
	random       *rand.Rand
	keys         int
}

func (c *caller) rest(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.l.ctx.Done():
	}
}

func (c *caller) newKey() string {
	c.keys++
	return fmt.Sprintf("client-%d-%d", c.client, c.keys)
}

// answer has the fields of a payment, or of an error, that the clients read.
type answer struct {
	ID           string
	Status       string
	Amount       int64
	StatusReason struct{ Type string }
	Processor    struct{ AmountCaptured, AmountRefunded int64 }
	Error        struct{ ErrorID, Description, PaymentID string }
	Data         []answer
}

func (a answer) money() money {
	return money{captured: a.Processor.AmountCaptured, refunded: a.Processor.AmountRefunded}
}

// attempt makes one attempt of a call.
func (c *caller) attempt(k *call, method, path, body string) (a answer, err error) {
	header := http.Header{}
	if k.key != "" {
		header.Set("X-Idempotency-Key", k.key)
	}
	k.from = c.l.now()
	if k.first == 0 {
		k.first = k.from
	}
	status, text, lag, err := c.l.exchange(c.node, method, path, header, body)
	k.to = c.l.now()
	if found := lagOf.FindStringSubmatch(lag); found != nil { // a list may be this much older than the request
		ms, _ := strconv.Atoi(found[1])
		k.from -= time.Duration(ms) * time.Millisecond
	}
	if err == nil {
		err = json.NewDecoder(bytes.NewReader(text)).Decode(&a)
	}
	if err != nil {
		return a, errors.Join(errNoAnswer, err)
	}
	k.status, k.saw, k.late, k.reason = a.Status, a.money(), a.StatusReason.Type == "GATEWAY_TIMEOUT", a.Error.ErrorID
	switch {
	case status == http.StatusOK:
		k.fate = done
	case status == http.StatusServiceUnavailable && a.Error.Description == "The outcome of the request is unknown.":
		return a, errNoAnswer
	case status == http.StatusServiceUnavailable, a.Error.ErrorID == "ConcurrentModification":
		k.claims = true
		return a, errNothing
	case a.Error.ErrorID == "IdempotencyKeyAlreadyExists":
		k.fate = repeated
	case slices.Contains([]string{"InvalidPaymentStatus", "PaymentAlreadyRefunded", "UnprocessableRefundAmount"}, a.Error.ErrorID),
		a.Error.ErrorID == "RequestValidationError" && k.kind == "capture":
		k.fate = refused
	default:
		c.l.t.Errorf("%s %s with %s: %d %s", method, path, body, status, text)
		return a, errNoAnswer
	}
	return a, nil
}

var (
	errNoAnswer = errors.New("the outcome is unknown")
	errNothing  = errors.New("nothing was recorded")
)

// persist repeats a call until it is answered or the load ends. A call that is said to have
// recorded nothing is, half of the time, given up for a new one under another key; next then notes
// the old one.
func (c *caller) persist(k *call, method, path, body string, next func(*call)) (*call, answer) {
	open := false // an attempt had no answer
	for {
		a, err := c.attempt(k, method, path, body)
		switch {
		case err == nil:
			if k.fate == repeated && !open && k.key != "" {
				c.l.t.Errorf("%s %s under the new key %s: the key exists", method, path, k.key)
			}
			c.l.mu.Lock()
			c.l.waits = append(c.l.waits, wait{k.first, k.to})
			if k.fate == done && k.key != "" {
				c.l.changed[c.node]++
			}
			c.l.mu.Unlock()
			return k, a
		case errors.Is(err, errNoAnswer):
			open = true
		case !open && k.key != "" && c.random.IntN(2) == 0:
			k.fate = nothing
			next(k)
			again := &call{client: k.client, kind: k.kind, amount: k.amount, key: c.newKey(), first: k.first}
			k = again
		}
		if c.l.ctx.Err() != nil {
			if k.fate = unknown; !open {
				k.fate = nothing
			}
			return k, answer{}
		}
		c.node = (c.node + 1) % len(c.l.urls)
		c.rest(retryPause)
	}
}

// create makes a payment and reads it until its authorization has ended.
func (c *caller) create() {
	k := &call{client: c.client, kind: "create", amount: paymentSize, key: c.newKey()}
	c.l.mu.Lock()
	c.l.made++
	order := fmt.Sprintf("order-%d", c.l.made)
	c.l.mu.Unlock()
	body := fmt.Sprintf(`{"paymentMethodToken":%q,"amount":%d,"currencyCode":"EUR","orderId":%q,"customerId":"customer-1"}`, c.l.token, paymentSize, order)
	k, a := c.persist(k, http.MethodPost, "/payments", body, func(old *call) { c.l.keep(&paid{create: old}) })
	p := &paid{create: k, id: a.ID, order: order}
	if k.fate == repeated {
		p.id = a.Error.PaymentID
	}
	c.l.keep(p)
	for p.id != "" && c.l.ctx.Err() == nil {
		if status := c.get(p); status == "AUTHORIZED" {
			c.l.mu.Lock()
			c.l.active = append(c.l.active, p)
			c.l.mu.Unlock()
			return
		} else if status != "PENDING" && status != "" {
			return // declined by a processor after a time-out
		}
		c.rest(retryPause)
	}
}

func (l *load) keep(p *paid) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.payments = append(l.payments, p)
	l.known[p.id] = p
}

// get reads a payment, and returns its status.
func (c *caller) get(p *paid) string {
	k, a := c.persist(&call{client: c.client, kind: "get"}, http.MethodGet, "/payments/"+p.id, "", nil)
	if k.fate == done {
		c.l.note(p, k)
	}
	return a.Status
}

// lagOf finds the milliseconds of Payledger-Lag.
var lagOf = regexp.MustCompile(`\bms=(\d+)`)

// list reads a list. It checks that each payment of the list is as old as the lag of the answer
// allows. The list must have the payment sought, whose creation was answered, unless the list may
// be older than that answer.
func (c *caller) list(query string, sought *paid) {
	k, a := c.persist(&call{client: c.client, kind: "list"}, http.MethodGet, "/payments?"+query, "", nil)
	if k.fate != done {
		return
	}
	c.l.noteList(k, a)
	if sought != nil && k.from > sought.create.to && !slices.ContainsFunc(a.Data, func(one answer) bool { return one.ID == sought.id }) {
		c.l.t.Errorf("API node %d at %s: the list of %s lacks %s, created at %s", c.node+1, k.to, query, sought.id, sought.create.to)
	}
}

func (l *load) noteList(k *call, a answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range a.Data {
		if p := l.known[one.ID]; p != nil {
			read := *k
			read.status, read.saw = one.Status, one.money()
			p.calls = append(p.calls, &read)
		}
	}
}

// change captures, refunds or cancels.
func (c *caller) change(p *paid, kind string, amount int64) {
	body := fmt.Sprintf(`{"amount":%d}`, amount)
	switch kind {
	case "capture":
		body = fmt.Sprintf(`{"amount":%d,"final":false}`, amount)
	case "cancel":
		body = `{}`
	}
	k := &call{client: c.client, kind: kind, key: c.newKey(), amount: amount}
	k, _ = c.persist(k, http.MethodPost, "/payments/"+p.id+"/"+kind, body, func(old *call) { c.l.note(p, old) })
	c.l.note(p, k)
}
