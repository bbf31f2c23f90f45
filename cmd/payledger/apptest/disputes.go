package apptest

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

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/options"
	"payledger/domain"
	"payledger/domain/processor"
	"payledger/notifier/signature"
	"payledger/processorsim/protocol"
)

// CardDisputed is a card whose payments get a dispute after settlement (D13).
const CardDisputed = "4000000000000259"

// DisputeHook has the fields of a dispute's webhook that these tests read.
type DisputeHook struct {
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

// DisputeRun is a running service with a receiver of the webhooks about disputes.
type DisputeRun struct {
	*testing.T
	App  *app.App
	M    *Merchant
	Came *disputeHooks
	Stop func()
}

// disputeHooks are the webhooks that came, by processorDisputeId.
type disputeHooks struct {
	sync.Mutex
	hooks map[string][]DisputeHook
}

// NewDisputeRun starts a service with an endpoint for webhooks about disputes. change may change
// its options.
func NewDisputeRun(t *testing.T, change func(*options.Options)) *DisputeRun {
	t.Helper()
	o := TestOptions(t.TempDir())
	if change != nil {
		change(&o)
	}
	r := &DisputeRun{T: t, Came: &disputeHooks{hooks: map[string][]DisputeHook{}}}
	r.Start(o)
	server := httptest.NewServer(r.receive(r.App.Credentials.SigningSecret))
	t.Cleanup(server.Close)
	r.M.Must(t, "POST", "/management/webhook-endpoints", r.M.Headers(), map[string]any{"url": server.URL, "eventTypes": []string{"DISPUTE.OPENED", "DISPUTE.STATUS"}})
	return r
}

// Start starts the service, again after a stop.
func (r *DisputeRun) Start(o options.Options) {
	r.Helper()
	app, err := app.Start(context.Background(), o, zerolog.Nop())
	if err != nil {
		r.Fatal(err)
	}
	key := ""
	if app.Credentials != nil {
		key = app.Credentials.APIKey
	} else {
		key = r.M.Key
	}
	r.App, r.M = app, NewMerchant(app.Ready().API, key)
	r.Stop = sync.OnceFunc(func() {
		if err := app.Stop(); err != nil {
			r.Error(err)
		}
	})
	r.Cleanup(r.Stop)
}

func (r *DisputeRun) receive(secret string) http.HandlerFunc {
	return func(_ http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err == nil {
			err = signature.Verify(q.Header, body, time.Now(), secret)
		}
		var h DisputeHook
		if err == nil {
			err = json.Unmarshal(body, &h)
		}
		if err != nil {
			r.Error(err)
			return
		}
		r.Came.Lock()
		defer r.Came.Unlock()
		r.Came.hooks[h.ProcessorDisputeID] = append(r.Came.hooks[h.ProcessorDisputeID], h)
	}
}

// Hooks returns the webhooks about a dispute that came so far, each event and kind once.
func (r *DisputeRun) Hooks(id string) (once []DisputeHook) {
	r.Came.Lock()
	defer r.Came.Unlock()
	seen := map[string]bool{}
	for _, h := range r.Came.hooks[id] {
		if name := h.EventID + h.EventType; !seen[name] {
			seen[name], once = true, append(once, h)
		}
	}
	return once
}

// Eventually waits until is reports true.
func (r *DisputeRun) Eventually(what string, is func() bool) {
	r.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(SettleDeadline); !is(); <-tick.C {
		if time.Now().After(deadline) {
			r.Fatal(what)
		}
	}
}

// Tells waits until the webhooks about a dispute are exactly these, in any order: "OPENED", or
// "TYPE STATUS".
func (r *DisputeRun) Tells(id string, want ...string) []DisputeHook {
	r.Helper()
	var hooks []DisputeHook
	r.Eventually(fmt.Sprintf("of %s want %v", id, want), func() bool { hooks = r.Hooks(id); return len(hooks) >= len(want) })
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

// Settled makes a payment in EUR that is captured whole, at a processor.
func (r *DisputeRun) Settled(order, card, at string) string {
	r.Helper()
	return r.SettledIn("EUR", order, card, at)
}

// SettledIn is settled in any currency.
func (r *DisputeRun) SettledIn(currency, order, card, at string) string {
	r.Helper()
	r.M.Must(r.T, "PUT", "/management/routing", r.M.Headers(), map[string]any{"rules": []any{}, "default": []string{at}})
	a, err := r.M.Pay(r.M.TokenIn(r.T, currency, order, 2500, card), "key-"+order)
	if err != nil || a.Status != 200 {
		r.Fatal(string(a.Body), err)
	}
	var p PaymentAnswer
	r.M.Must(r.T, "POST", "/payments/"+Decoded[PaymentAnswer](r.T, a).ID+"/capture", r.M.Headers(), nil).Decode(r.T, &p)
	if p.Status != "SETTLED" || p.Processor.Name != at {
		r.Fatalf("%+v", p)
	}
	return p.ID
}

// Decoded returns the body of an answer.
func Decoded[V any](t testing.TB, a Answer) (v V) {
	t.Helper()
	a.Decode(t, &v)
	return v
}

// Open opens a dispute of a type on a payment.
func (r *DisputeRun) Open(payment, typ string) protocol.Dispute {
	r.Helper()
	d, err := r.App.Processors.Control().OpenDispute(context.Background(), protocol.DisputeOrder{
		Reference: domain.PaymentID(payment), Type: processor.DisputeType(typ), ReasonCode: "13.1",
	})
	if err != nil {
		r.Fatal(err)
	}
	return d
}

// Change changes the type and the status of a dispute: "CHARGEBACK OPEN".
func (r *DisputeRun) Change(id, place string) {
	r.Helper()
	typ, status, _ := strings.Cut(place, " ")
	_, err := r.App.Processors.Control().ChangeDispute(context.Background(), id, protocol.DisputeChange{Type: processor.DisputeType(typ), Status: processor.DisputeStatus(status)})
	if err != nil {
		r.Fatal(err)
	}
}

// ShownDispute has the fields of GET /management/disputes that these tests read.
type ShownDispute struct {
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

// Shows reads a dispute by the processor's id for it.
func (r *DisputeRun) Shows(id string) ShownDispute {
	r.Helper()
	var page struct{ Data []ShownDispute }
	r.M.Must(r.T, "GET", "/management/disputes?processorDisputeId="+id, r.M.Headers(), nil).Decode(r.T, &page)
	if len(page.Data) != 1 {
		return ShownDispute{}
	}
	return Decoded[ShownDispute](r.T, r.M.Must(r.T, "GET", "/management/disputes/"+page.Data[0].ID, r.M.Headers(), nil))
}

// DisputedSale is a payment that disputes are opened of.
type DisputedSale struct{ ID, At, Currency string }

// Walk opens a dispute, makes the changes of way, and tries the impossible ones at the end.
func (r *DisputeRun) Walk(sale DisputedSale, way, impossible []string) {
	r.Helper()
	typ, _, _ := strings.Cut(way[0], " ")
	opened := r.Open(sale.ID, typ)
	want := []string{"OPENED", way[0]}
	r.Tells(opened.ID, want...)
	for _, place := range way[1:] {
		r.Change(opened.ID, place)
		want = append(want, place)
		r.Tells(opened.ID, want...)
		if shown := r.Shows(opened.ID); shown.Type+" "+shown.Status != place || shown.Amount != 2500 || shown.Currency != sale.Currency {
			r.Errorf("GET shows %s %s of %d %s, want %s", shown.Type, shown.Status, shown.Amount, shown.Currency, place)
		}
	}
	for _, place := range impossible {
		r.Change(opened.ID, place)
	}
	r.Eventually("what is impossible is not shown", func() bool { return len(r.Shows(opened.ID).History) == len(way)+len(impossible) })
	shown := r.Shows(opened.ID)
	for i, fact := range shown.History {
		if rejected := i >= len(way); rejected != (fact.Verdict == "REJECTED") || rejected != (fact.Refusal != "") {
			r.Errorf("%s %s is %s: %s", fact.Type, fact.Status, fact.Verdict, fact.Refusal)
		}
	}
	if end := way[len(way)-1]; shown.Type+" "+shown.Status != end {
		r.Errorf("after what is impossible GET shows %s %s, want %s", shown.Type, shown.Status, end)
	}
	for _, h := range r.Tells(opened.ID, want...) {
		r.checkHook(h, opened, sale)
	}
	if p, body := r.M.Read(r.T, sale.ID); p.Status != "SETTLED" {
		r.Errorf("the dispute touched its payment: %s", body)
	}
}

// checkHook compares a webhook with the ordered dispute.
func (r *DisputeRun) checkHook(h DisputeHook, d protocol.Dispute, sale DisputedSale) {
	r.Helper()
	if h.PaymentID != sale.ID || h.ProcessorDisputeID != d.ID || h.AccountID != string(r.App.Credentials.AccountID) ||
		h.TransactionID != d.ProcessorTransactionID || h.OrderID != sale.At+sale.Currency || h.EventID == "" || h.Sequence == 0 {
		r.Errorf("%+v of %+v", h, d)
	}
	if h.EventType == "DISPUTE.OPENED" {
		if h.ProcessorID != sale.At || h.Sequence != 1 {
			r.Errorf("%+v", h)
		}
		return
	}
	if h.Processor != sale.At || h.ReasonCode != "13.1" || h.Reason != "PRODUCT_NOT_RECEIVED" || h.Amount != 2500 || h.Currency != sale.Currency ||
		(h.ChallengeRequiredBy != nil) != (h.Status == "OPEN" && !(sale.At == "PAYPAL" && h.Type == "RETRIEVAL")) {
		r.Errorf("%+v", h)
	}
}
