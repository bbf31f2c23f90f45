package main

import (
	"strings"
	"testing"

	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// disputeTable is D16: each status of each type from the status before it, each change of type from each status that allows it, and the
// impossible changes at the end.
var disputeTable = []struct{ way, impossible string }{
	{"RETRIEVAL OPEN, RETRIEVAL CHALLENGED", "RETRIEVAL OPEN, RETRIEVAL WON"},
	{"RETRIEVAL OPEN, RETRIEVAL EXPIRED", "RETRIEVAL CHALLENGED, RETRIEVAL LOST"},
	{"RETRIEVAL OPEN, RETRIEVAL CANCELLED", "RETRIEVAL ACCEPTED"},
	{"RETRIEVAL OPEN, DISPUTE OPEN, DISPUTE ACCEPTED", "DISPUTE WON, RETRIEVAL OPEN, PREARBITRATION OPEN"},
	{"RETRIEVAL OPEN, RETRIEVAL CHALLENGED, DISPUTE OPEN, DISPUTE EXPIRED", "DISPUTE CHALLENGED, DISPUTE CANCELLED"},
	{"RETRIEVAL OPEN, RETRIEVAL EXPIRED, DISPUTE OPEN, DISPUTE CHALLENGED, DISPUTE WON", "RETRIEVAL CANCELLED, PREARBITRATION OPEN"},
	{"RETRIEVAL OPEN, RETRIEVAL CANCELLED, DISPUTE OPEN, DISPUTE CANCELLED", "RETRIEVAL EXPIRED, DISPUTE OPEN"},
	{"DISPUTE OPEN, DISPUTE CANCELLED", "DISPUTE OPEN, PREARBITRATION LOST"},
	{"DISPUTE OPEN, DISPUTE CHALLENGED, DISPUTE WON", "DISPUTE LOST, PREARBITRATION OPEN"},
	{"DISPUTE OPEN, DISPUTE CHALLENGED, DISPUTE LOST", "DISPUTE WON, DISPUTE CHALLENGED"},
	{"DISPUTE OPEN, DISPUTE CHALLENGED, DISPUTE LOST, PREARBITRATION OPEN, PREARBITRATION ACCEPTED", "DISPUTE LOST, PREARBITRATION EXPIRED"},
	{"DISPUTE OPEN, DISPUTE CHALLENGED, PREARBITRATION OPEN, PREARBITRATION EXPIRED", "PREARBITRATION OPEN"},
	{"DISPUTE OPEN, DISPUTE CHALLENGED, PREARBITRATION OPEN, PREARBITRATION CANCELLED", "DISPUTE CHALLENGED"},
	{"PREARBITRATION OPEN, PREARBITRATION CHALLENGED, PREARBITRATION WON", "DISPUTE OPEN, PREARBITRATION LOST"},
	{"PREARBITRATION OPEN, PREARBITRATION CHALLENGED, PREARBITRATION LOST", "RETRIEVAL OPEN, PREARBITRATION WON"},
}

// disputedCurrencies have two decimal digits, and none: amounts of those go out as they are (§6.4).
var disputedCurrencies = []string{"EUR", "JPY", "KRW"}

// disputedSale is a payment that disputes are opened of.
type disputedSale struct{ id, at, currency string }

// TestDisputeTable plays every row of D16 at each processor, alternating between currencies with and without decimal digits, with the
// simulator's control API, the received webhooks and the management API. An impossible change is recorded as rejected and shown, and sends
// no webhook.
func TestDisputeTable(t *testing.T) {
	t.Parallel()
	r := newDisputeRun(t, nil)
	sales := map[processor.Name][]disputedSale{}
	for _, name := range processor.Names {
		for _, currency := range disputedCurrencies {
			at := string(name)
			sales[name] = append(sales[name], disputedSale{r.settledIn(currency, at+currency, "4111111111111111", at), at, currency})
		}
	}
	for i, c := range disputeTable {
		for j, name := range processor.Names {
			if testing.Short() && j != i%len(processor.Names) {
				continue
			}
			sale := sales[name][(i+j)%len(disputedCurrencies)]
			t.Run(c.way+" at "+sale.at+" in "+sale.currency, func(t *testing.T) {
				t.Parallel()
				r := &disputeRun{T: t, app: r.app, m: r.m, came: r.came}
				r.walk(sale, strings.Split(c.way, ", "), strings.Split(c.impossible, ", "))
			})
		}
	}
}

// walk opens a dispute, makes the changes of way, and tries the impossible ones at the end.
func (r *disputeRun) walk(sale disputedSale, way, impossible []string) {
	r.Helper()
	typ, _, _ := strings.Cut(way[0], " ")
	opened := r.open(sale.id, typ)
	want := []string{"OPENED", way[0]}
	r.tells(opened.ID, want...)
	for _, place := range way[1:] {
		r.change(opened.ID, place)
		want = append(want, place)
		r.tells(opened.ID, want...)
		if shown := r.shows(opened.ID); shown.Type+" "+shown.Status != place || shown.Amount != 2500 || shown.Currency != sale.currency {
			r.Errorf("GET shows %s %s of %d %s, want %s", shown.Type, shown.Status, shown.Amount, shown.Currency, place)
		}
	}
	for _, place := range impossible {
		r.change(opened.ID, place)
	}
	r.eventually("what is impossible is not shown", func() bool { return len(r.shows(opened.ID).History) == len(way)+len(impossible) })
	shown := r.shows(opened.ID)
	for i, fact := range shown.History {
		if rejected := i >= len(way); rejected != (fact.Verdict == "REJECTED") || rejected != (fact.Refusal != "") {
			r.Errorf("%s %s is %s: %s", fact.Type, fact.Status, fact.Verdict, fact.Refusal)
		}
	}
	if end := way[len(way)-1]; shown.Type+" "+shown.Status != end {
		r.Errorf("after what is impossible GET shows %s %s, want %s", shown.Type, shown.Status, end)
	}
	for _, h := range r.tells(opened.ID, want...) {
		r.checkHook(h, opened, sale)
	}
	if p, body := r.m.read(r.T, sale.id); p.Status != "SETTLED" {
		r.Errorf("the dispute touched its payment: %s", body)
	}
}

// checkHook compares a webhook with the ordered dispute.
func (r *disputeRun) checkHook(h disputeHook, d protocol.Dispute, sale disputedSale) {
	r.Helper()
	if h.PaymentID != sale.id || h.ProcessorDisputeID != d.ID || h.AccountID != string(r.app.credentials.AccountID) ||
		h.TransactionID != d.ProcessorTransactionID || h.OrderID != sale.at+sale.currency || h.EventID == "" || h.Sequence == 0 {
		r.Errorf("%+v of %+v", h, d)
	}
	if h.EventType == "DISPUTE.OPENED" {
		if h.ProcessorID != sale.at || h.Sequence != 1 {
			r.Errorf("%+v", h)
		}
		return
	}
	if h.Processor != sale.at || h.ReasonCode != "13.1" || h.Reason != "PRODUCT_NOT_RECEIVED" || h.Amount != 2500 || h.Currency != sale.currency ||
		(h.ChallengeRequiredBy != nil) != (h.Status == "OPEN" && !(sale.at == "PAYPAL" && h.Type == "RETRIEVAL")) {
		r.Errorf("%+v", h)
	}
}
