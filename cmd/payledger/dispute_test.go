package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/cmd/payledger/options"
	"payledger/domain"
	"payledger/domain/processor"
	"payledger/notifier/signature"
	"payledger/processorsim/protocol"
)

// cardDisputed: a dispute opens after settlement (D13).
const cardDisputed = "4000000000000259"

// disputeHook has the fields of a dispute's webhook that these tests read.
type disputeHook struct {
	EventType           string  `json:"eventType"`
	EventID             string  `json:"eventId"`
	Sequence            uint64  `json:"sequence"`
	Type                string  `json:"type"`
	Status              string  `json:"status"`
	PaymentID           string  `json:"paymentId"`
	OrderID             string  `json:"orderId"`
	AccountID           string  `json:"primerAccountId"`
	TransactionID       string  `json:"transactionId"`
	Processor           string  `json:"processor"`
	ProcessorID         string  `json:"processorId"`
	ProcessorDisputeID  string  `json:"processorDisputeId"`
	ReasonCode          string  `json:"reasonCode"`
	Reason              string  `json:"reason"`
	Amount              int64   `json:"amount"`
	Currency            string  `json:"currency"`
	ChallengeRequiredBy *string `json:"challengeRequiredBy"`
}

// disputeRun is a running service with a receiver of the webhooks about disputes.
type disputeRun struct {
	*testing.T
	app  *App
	m    *merchant
	came *disputeHooks
	stop func()
}

// disputeHooks are the webhooks that came, by processorDisputeId.
type disputeHooks struct {
	sync.Mutex
	hooks map[string][]disputeHook
}

func newDisputeRun(t *testing.T, change func(*options.Options)) *disputeRun {
	t.Helper()
	o := testOptions(t.TempDir())
	if change != nil {
		change(&o)
	}
	r := &disputeRun{T: t, came: &disputeHooks{hooks: map[string][]disputeHook{}}}
	r.start(o)
	server := httptest.NewServer(r.receive(r.app.credentials.SigningSecret))
	t.Cleanup(server.Close)
	r.m.must(t, "POST", "/management/webhook-endpoints", r.m.headers(), map[string]any{"url": server.URL, "eventTypes": []string{"DISPUTE.OPENED", "DISPUTE.STATUS"}})
	return r
}

func (r *disputeRun) start(o options.Options) {
	r.Helper()
	app, err := Start(context.Background(), o, zerolog.Nop())
	if err != nil {
		r.Fatal(err)
	}
	key := ""
	if app.credentials != nil {
		key = app.credentials.APIKey
	} else {
		key = r.m.key
	}
	r.app, r.m = app, newMerchant(app.ready().API, key)
	r.stop = sync.OnceFunc(func() {
		if err := app.Stop(); err != nil {
			r.Error(err)
		}
	})
	r.Cleanup(r.stop)
}

func (r *disputeRun) receive(secret string) http.HandlerFunc {
	return func(_ http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err == nil {
			err = signature.Verify(q.Header, body, time.Now(), secret)
		}
		var h disputeHook
		if err == nil {
			err = json.Unmarshal(body, &h)
		}
		if err != nil {
			r.Error(err)
			return
		}
		r.came.Lock()
		defer r.came.Unlock()
		r.came.hooks[h.ProcessorDisputeID] = append(r.came.hooks[h.ProcessorDisputeID], h)
	}
}

// hooks returns the webhooks about a dispute that came so far, each event and kind once.
func (r *disputeRun) hooks(id string) (once []disputeHook) {
	r.came.Lock()
	defer r.came.Unlock()
	seen := map[string]bool{}
	for _, h := range r.came.hooks[id] {
		if name := h.EventID + h.EventType; !seen[name] {
			seen[name], once = true, append(once, h)
		}
	}
	return once
}

// eventually waits until is reports true.
func (r *disputeRun) eventually(what string, is func() bool) {
	r.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(settleDeadline); !is(); <-tick.C {
		if time.Now().After(deadline) {
			r.Fatal(what)
		}
	}
}

// tells waits until the webhooks about a dispute are exactly these, in any order: "OPENED", or "TYPE STATUS".
func (r *disputeRun) tells(id string, want ...string) []disputeHook {
	r.Helper()
	var hooks []disputeHook
	r.eventually(fmt.Sprintf("of %s want %v", id, want), func() bool { hooks = r.hooks(id); return len(hooks) >= len(want) })
	left := map[string]int{}
	for _, w := range want {
		left[w]++
	}
	for _, h := range hooks {
		name := h.Type + " " + h.Status
		if h.EventType == "DISPUTE.OPENED" {
			name = "OPENED"
		}
		left[name]--
	}
	for name, n := range left {
		if n != 0 {
			r.Errorf("webhooks of %s: %s came %+d times too few: %+v", id, name, n, hooks)
		}
	}
	return hooks
}

// settled makes a payment in EUR that is captured whole, at a processor.
func (r *disputeRun) settled(order, card, at string) string {
	r.Helper()
	return r.settledIn("EUR", order, card, at)
}

// settledIn is settled in any currency.
func (r *disputeRun) settledIn(currency, order, card, at string) string {
	r.Helper()
	r.m.must(r.T, "PUT", "/management/routing", r.m.headers(), map[string]any{"rules": []any{}, "default": []string{at}})
	a, err := r.m.pay(r.m.tokenIn(r.T, currency, order, 2500, card), "key-"+order)
	if err != nil || a.status != 200 {
		r.Fatal(string(a.body), err)
	}
	var p paymentAnswer
	r.m.must(r.T, "POST", "/payments/"+decoded[paymentAnswer](r.T, a).ID+"/capture", r.m.headers(), nil).decode(r.T, &p)
	if p.Status != "SETTLED" || p.Processor.Name != at {
		r.Fatalf("%+v", p)
	}
	return p.ID
}

func decoded[V any](t testing.TB, a answer) (v V) {
	t.Helper()
	a.decode(t, &v)
	return v
}

func (r *disputeRun) open(payment, typ string) protocol.Dispute {
	r.Helper()
	d, err := r.app.processors.OpenDispute(context.Background(), protocol.DisputeOrder{
		Reference: domain.PaymentID(payment), Type: processor.DisputeType(typ), ReasonCode: "13.1",
	})
	if err != nil {
		r.Fatal(err)
	}
	return d
}

func (r *disputeRun) change(id, place string) {
	r.Helper()
	typ, status, _ := strings.Cut(place, " ")
	_, err := r.app.processors.ChangeDispute(context.Background(), id, protocol.DisputeChange{Type: processor.DisputeType(typ), Status: processor.DisputeStatus(status)})
	if err != nil {
		r.Fatal(err)
	}
}

// shownDispute has the fields of GET /management/disputes that these tests read.
type shownDispute struct {
	ID                 string  `json:"id"`
	Type               string  `json:"type"`
	Status             string  `json:"status"`
	PaymentID          string  `json:"paymentId"`
	ProcessorDisputeID string  `json:"processorDisputeId"`
	Amount             int64   `json:"amount"`
	Currency           string  `json:"currency"`
	ChallengeBy        *string `json:"challengeRequiredBy"`
	History            []struct {
		Type    string `json:"type"`
		Status  string `json:"status"`
		Verdict string `json:"verdict"`
		Refusal string `json:"refusal"`
	} `json:"history"`
}

// shows reads a dispute by the processor's id for it.
func (r *disputeRun) shows(id string) shownDispute {
	r.Helper()
	var page struct{ Data []shownDispute }
	r.m.must(r.T, "GET", "/management/disputes?processorDisputeId="+id, r.m.headers(), nil).decode(r.T, &page)
	if len(page.Data) != 1 {
		return shownDispute{}
	}
	return decoded[shownDispute](r.T, r.m.must(r.T, "GET", "/management/disputes/"+page.Data[0].ID, r.m.headers(), nil))
}

// TestDisputedCard: the card of D13 leads to a dispute once its payment is settled. The payment's history has the
// notification.
func TestDisputedCard(t *testing.T) {
	t.Parallel()
	r := newDisputeRun(t, nil)
	id := r.settled("order-1", cardDisputed, "ADYEN")
	if _, err := r.app.processors.Settle(context.Background()); err != nil {
		t.Fatal(err)
	}
	var shown []shownDispute
	r.eventually("no dispute opened", func() bool {
		var page struct{ Data []shownDispute }
		r.m.must(t, "GET", "/management/disputes?paymentId="+id, r.m.headers(), nil).decode(t, &page)
		shown = page.Data
		return len(shown) > 0
	})
	hooks := r.tells(shown[0].ProcessorDisputeID, "OPENED", "DISPUTE OPEN")
	if hooks[0].PaymentID != id {
		t.Errorf("%+v", hooks)
	}
	var history []byte
	r.eventually("the history does not tell of it", func() bool {
		history = r.m.must(t, "GET", "/payments/"+id+"/events", r.m.headers(), nil).body
		return strings.Contains(string(history), `"outcome":"APPLIED"`)
	})
	for _, text := range []string{`"disputePspReference":"` + shown[0].ProcessorDisputeID, `"effect":"dispute.opened"`, `"disputeId":"` + shown[0].ID, `"kind":"dispute"`} {
		if !strings.Contains(string(history), text) {
			t.Errorf("the history lacks %s: %s", text, history)
		}
	}
}

// TestDisputeFaults: notifications that are lost, late, doubled and reordered lead to the same disputes and the same
// webhooks: a lost one is found by asking (D14, D16).
func TestDisputeFaults(t *testing.T) {
	t.Parallel()
	r := newDisputeRun(t, func(o *options.Options) { o.DisputeLookup = 50 * time.Millisecond })
	id := r.settled("order-1", "4111111111111111", "CHECKOUT")
	rate := 0.4
	for mode, delay := range map[protocol.Mode]int{protocol.DropBefore: 0, protocol.Latency: 30, protocol.DuplicateNotification: 0, protocol.Reorder: 40} {
		fault := protocol.Fault{Operation: processor.Dispute, Mode: mode, Rate: &rate, DelayMs: delay}
		if err := r.app.processors.SetFault(context.Background(), fault); err != nil {
			t.Fatal(err)
		}
	}
	var ids []string
	for range 12 {
		d := r.open(id, "DISPUTE")
		for _, place := range []string{"DISPUTE CHALLENGED", "DISPUTE LOST", "PREARBITRATION OPEN", "PREARBITRATION ACCEPTED"} {
			r.change(d.ID, place)
		}
		ids = append(ids, d.ID)
	}
	for _, id := range ids {
		r.eventually("a dispute does not end as its processor's", func() bool {
			s := r.shows(id)
			return s.Type == "PREARBITRATION" && s.Status == "ACCEPTED" && len(s.History) == 5
		})
		shown, changes := r.shows(id), 0
		for _, fact := range shown.History {
			switch fact.Verdict {
			case "OPENED", "CHANGED":
				changes++
			case "REJECTED":
				t.Errorf("%+v", shown)
			}
		}
		r.eventually("webhooks are missing", func() bool { return len(r.hooks(id)) >= changes+1 })
		opened, newest := 0, disputeHook{}
		for _, h := range r.hooks(id) {
			if h.EventType == "DISPUTE.OPENED" {
				opened++
			} else if h.Sequence > newest.Sequence {
				newest = h
			}
		}
		if got := len(r.hooks(id)); got != changes+1 || opened != 1 || newest.Type+" "+newest.Status != "PREARBITRATION ACCEPTED" {
			t.Errorf("%d webhooks for %d changes, %d opened, the newest %+v", got, changes, opened, newest)
		}
	}
}

// TestLostWhileAway: notifications that were sent while the service was down are found at the next start, without waiting
// (D14.12).
func TestLostWhileAway(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := newDisputeRun(t, func(o *options.Options) { o.Data, o.DisputeLookup = dir, time.Hour })
	id := r.settled("order-1", "4111111111111111", "STRIPE")
	if err := r.app.processors.SetFault(context.Background(), protocol.Fault{Operation: processor.Dispute, Mode: protocol.DropBefore}); err != nil {
		t.Fatal(err)
	}
	d := r.open(id, "RETRIEVAL")
	r.change(d.ID, "DISPUTE OPEN")
	if shown := r.shows(d.ID); shown.ID != "" {
		t.Fatalf("it was not lost: %+v", shown)
	}
	key := r.m.key
	r.stop()
	o := testOptions(dir)
	o.DisputeLookup = time.Hour
	r.m.key = key
	r.start(o)
	r.tells(d.ID, "OPENED", "RETRIEVAL OPEN", "DISPUTE OPEN")
	history := r.m.must(t, "GET", "/payments/"+id+"/events", r.m.headers(), nil)
	if !strings.Contains(string(history.body), `"found":true`) {
		t.Errorf("%s", history.body)
	}
}
