//go:build system

package kills

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"payledger/cmd/payledger/apptest"
	"payledger/domain/seedtest"
	"payledger/eventstore/eventstoretest"
	"payledger/processorsim/simulator"
)

var webhookKills = flag.Int("webhook-kills", 10, "how often TestWebhookKill9 kills the service")

const (
	webhookStories = 16          // payments of a round, side by side
	webhookSlack   = time.Minute // how late an attempt may come on a busy machine
	webhookSettles = 3 * time.Minute
)

// webhookDelays are short, so that several attempts of a delivery come between two kills.
var webhookDelays = []time.Duration{150 * time.Millisecond, 300 * time.Millisecond, 600 * time.Millisecond, time.Second, time.Second}

// webhookRun is the service over all of its starts, and the merchant's receiver, which stays up.
type webhookRun struct {
	t       *testing.T
	random  *rand.Rand
	args    []string
	process *apptest.Process
	apiKey  string
	m       *apptest.Merchant
	ready   []time.Time // when each start was ready
	inbox   *webhookInbox
}

// TestWebhookKill9 kills serve at random moments of a load, again and again: no webhook that an
// event must cause (§6.2) is lost for any endpoint, be it steady, flaky or slow; none comes that no
// event causes; none is sent after a recorded success; attempts keep to the schedule, at most six
// each. Duplicates are counted (§6.1 rule 4, D18).
func TestWebhookKill9(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	rounds := *webhookKills
	sim, err := simulator.New(simulator.Config{Dir: t.TempDir(), Secret: []byte("secret")})
	if err != nil {
		t.Fatal(err)
	}
	defer sim.Close()
	processors := httptest.NewServer(sim.Handler())
	defer processors.Close()
	var delays []string
	for _, d := range webhookDelays {
		delays = append(delays, d.String())
	}
	r := &webhookRun{t: t, random: rand.New(rand.NewPCG(seedtest.Seed(t), 0)), inbox: newWebhookInbox(t), args: []string{
		"--data", t.TempDir(), "--processor-url", processors.URL, "--webhook-allow-cidr", "127.0.0.0/8", "--log-level", "error",
		"--webhook-retry-delays", strings.Join(delays, ","),
	}}
	r.start()
	for _, kind := range webhookEndpoints {
		r.m.Must(t, "POST", "/management/webhook-endpoints", r.m.Headers(), map[string]any{"url": r.inbox.url + "/" + kind, "description": kind})
	}
	for round := range rounds {
		if r.random.IntN(5) > 0 { // else it is killed right after its start
			r.load(round)
		}
		r.process.Kill()
		r.start()
	}
	events := r.caused()
	r.inbox.await(events)
	duplicates, cut, retries := r.check(events)
	r.process.Stop()
	t.Logf("%d kills, %d events with a webhook, %d endpoints: 0 lost, %d came twice, %d attempts cut before they were recorded, %d retries",
		rounds, len(events), len(webhookEndpoints), duplicates, cut, retries)
}

// start starts the service on the existing folder.
func (r *webhookRun) start() {
	r.t.Helper()
	r.process = apptest.ServeProcess(r.t, r.args...)
	if c := r.process.Credentials; c != nil {
		r.apiKey = c.APIKey
		r.inbox.trust(c.SigningSecret)
	}
	r.ready = append(r.ready, time.Now())
	r.m = apptest.NewMerchant(r.process.Ready.API, r.apiKey)
}

// load lives payments until a random number of requests was answered; then it returns, while they
// go on.
func (r *webhookRun) load(round int) {
	enough, answers := int64(r.random.IntN(3*webhookStories)), atomic.Int64{}
	reached, ended := make(chan struct{}), make(chan struct{})
	var once sync.Once
	answered := func() {
		if answers.Add(1) > enough {
			once.Do(func() { close(reached) })
		}
	}
	m := r.m
	var living sync.WaitGroup
	for i := range webhookStories {
		what, amount := webhookStory(r.random.IntN(len(webhookStoryLines))), 100+r.random.Int64N(10_000)
		living.Go(func() { what.live(m, fmt.Sprintf("order-%d-%d", round, i), amount, answered) })
	}
	go func() {
		living.Wait()
		m.Client.CloseIdleConnections()
		close(ended)
	}()
	r.t.Cleanup(func() { <-ended })
	select {
	case <-reached:
	case <-ended:
	}
}

// webhookStory is one of the ways that a payment goes.
type webhookStory int

// webhookStoryLines are the requests for each payment in order: a path, and the share of the amount
// in percent.
var webhookStoryLines = [][]string{
	{"4111111111111111", "capture 100"},
	{"4111111111111111", "capture 40", "capture 90", "capture 60"}, // the second one is too much
	{"4111111111111111", "capture 100", "refund 30", "refund 70"},
	{"4111111111111111", "cancel 0"},
	{"4000000000009995"}, // declined
}

// live sends the requests in order, until a connection is cut or an answer is a refusal.
func (s webhookStory) live(m *apptest.Merchant, order string, amount int64, answered func()) {
	line := webhookStoryLines[s]
	token, ok := m.TryToken(order, amount, line[0])
	if !ok {
		return
	}
	a, err := m.Pay(token, order)
	var paid apptest.PaymentAnswer
	if err != nil || a.Status != http.StatusOK || json.Unmarshal(a.Body, &paid) != nil {
		return
	}
	answered()
	for _, ask := range line[1:] {
		var path string
		var share int64
		if _, err := fmt.Sscanf(ask, "%s %d", &path, &share); err != nil {
			panic(err)
		}
		body := map[string]any{}
		if share > 0 {
			body["amount"] = amount * share / 100
		}
		if path == "capture" {
			body["final"] = share == 100
		}
		if _, err := m.Call("POST", "/payments/"+paid.ID+"/"+path, m.Headers(), body); err != nil {
			return
		}
		answered()
	}
}

// caused reads the history of every payment when no operation is open there. It returns the
// webhooks that the history must have caused (§6.2), by payment, revision and kind.
func (r *webhookRun) caused() map[webhookEvent]bool {
	r.t.Helper()
	events := map[webhookEvent]bool{}
	for cursor := ""; ; {
		var page struct {
			Data []struct {
				ID string `json:"id"`
			} `json:"data"`
			NextCursor string `json:"nextCursor"`
		}
		r.m.Must(r.t, "GET", "/payments"+cursor, r.m.Headers(), nil).Decode(r.t, &page)
		for _, p := range page.Data {
			before := ""
			for _, e := range r.settled(p.ID) {
				for _, kind := range webhookKinds(before, e) {
					events[webhookEvent{p.ID, e.Revision, kind}] = true
				}
				before = e.Payment.Status
			}
		}
		if cursor = "?cursor=" + url.QueryEscape(page.NextCursor); page.NextCursor == "" {
			return events
		}
	}
}

// webhookHistory has the fields of an entry of a payment's history that this test reads.
type webhookHistory struct {
	Revision uint64 `json:"revision"`
	Type     string `json:"type"`
	Payment  struct {
		Status string `json:"status"`
	} `json:"payment"`
	Waiting []any `json:"waiting"`
}

// settled waits until no operation of a payment is open, and returns its history.
func (r *webhookRun) settled(payment string) (history []webhookHistory) {
	r.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(webhookSettles); ; <-tick.C {
		var answer struct{ Data []webhookHistory }
		r.m.Must(r.t, "GET", "/payments/"+payment+"/events", r.m.Headers(), nil).Decode(r.t, &answer)
		history = answer.Data
		if len(history[len(history)-1].Waiting) == 0 && history[len(history)-1].Payment.Status != "PENDING" {
			return history
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("payment %s: %+v", payment, history)
		}
	}
}

// webhookKinds is an independent copy of the rules of §6.2: it returns the kinds of webhooks that
// an event causes.
func webhookKinds(before string, e webhookHistory) (kinds []string) {
	if e.Revision > 1 && e.Payment.Status != before {
		kinds = append(kinds, "PAYMENT.STATUS")
	}
	switch e.Type {
	case "payment.refunded":
		kinds = append(kinds, "PAYMENT.REFUND")
	case "payment.capture_refused", "payment.capture_failed":
		kinds = append(kinds, "PAYMENT.CAPTURE.FAILED")
	case "payment.refund_refused":
		kinds = append(kinds, "PAYMENT.REFUND.FAILED")
	case "payment.refund_failed":
		kinds = append(kinds, "PAYMENT.REFUND", "PAYMENT.REFUND.FAILED")
	case "payment.void_failed":
		kinds = append(kinds, "PAYMENT.CANCELLATION.FAILED")
	}
	return kinds
}

// check compares the received webhooks with the caused ones, and with the attempt log.
func (r *webhookRun) check(events map[webhookEvent]bool) (duplicates, cut, retries int) {
	r.t.Helper()
	came := r.inbox.all()
	for at := range came {
		if !events[at.webhookEvent] {
			r.t.Errorf("no event causes %+v", at)
		}
	}
	log := r.attemptLog()
	for at, arrivals := range came {
		d, logged := log[at]
		if !logged {
			r.t.Errorf("%+v stands not in the attempt log", at)
			continue
		}
		for _, fault := range r.faults(at.endpoint, d, arrivals) {
			r.t.Errorf("%+v: %s", at, fault)
		}
		taken := 0
		for _, a := range arrivals {
			if a.status == http.StatusOK {
				taken++
			}
		}
		duplicates, cut, retries = duplicates+taken-1, cut+len(arrivals)-len(d.Tried), retries+len(d.Tried)-1
	}
	if len(log) != len(came) {
		r.t.Errorf("%d deliveries in the attempt log, %d came", len(log), len(came))
	}
	return duplicates, cut, retries
}

// faults returns the faults of an ended delivery.
func (r *webhookRun) faults(endpoint string, d webhookDelivery, arrivals []webhookArrival) (faults []string) {
	fail := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	if n := len(d.Tried); d.Outcome != "SUCCEEDED" || n == 0 || n > 6 || d.Tried[n-1].Failure != "" || len(arrivals) < n {
		fail("%s after %d attempts, %d of which arrived", d.Outcome, n, len(arrivals))
		return faults
	}
	success := d.Tried[len(d.Tried)-1].end()
	due := d.PlannedAt
	for i, a := range d.Tried {
		if i > 0 {
			if d.Tried[i-1].Failure == "" {
				fail("attempt %d comes after a success", i+1)
			}
			wait := webhookDelays[i-1]
			due = d.Tried[i-1].end().Add(wait * 11 / 10)
			if a.StartedAt.Before(due.Add(-wait*2/10 - 2*time.Millisecond)) {
				fail("attempt %d at %s is early: %s", i+1, a.StartedAt, due)
			}
		}
		// Of a slow endpoint deliveries wait for one another.
		if late := a.StartedAt.Sub(r.upSince(due, a.StartedAt)); late > webhookSlack && endpoint != "slow" {
			fail("attempt %d at %s is %s late", i+1, a.StartedAt, late)
		}
	}
	for _, a := range arrivals {
		if a.at.After(success.Add(2 * time.Millisecond)) { // the log has whole milliseconds
			fail("sent again at %s, after its success at %s", a.at, success)
		}
	}
	return faults
}

// upSince returns the later of two times: when an attempt was due, and when the service that made
// it was ready.
func (r *webhookRun) upSince(due, made time.Time) time.Time {
	i, _ := slices.BinarySearchFunc(r.ready, made, time.Time.Compare)
	if i > 0 && r.ready[i-1].After(due) {
		return r.ready[i-1]
	}
	return due
}
