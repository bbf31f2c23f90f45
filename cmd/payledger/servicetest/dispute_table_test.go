package servicetest

import (
	"strings"
	"testing"

	"payledger/cmd/payledger/apptest"
	"payledger/domain/processor"
	"payledger/domain/seedtest"
)

// disputeTable is D16: each status of each type from the status before it, each change of type from
// each status that allows it, and the impossible changes at the end.
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

// TestDisputeTable plays every row of D16 at each processor, alternating between currencies with
// and without decimal digits, with the simulator's control API, the received webhooks and the
// management API. An impossible change is recorded as rejected and shown, and sends no webhook.
func TestDisputeTable(t *testing.T) {
	t.Parallel()
	r := apptest.NewDisputeRun(t, nil)
	sales := map[processor.Name][]apptest.DisputedSale{}
	for _, name := range processor.Names {
		for _, currency := range disputedCurrencies {
			at := string(name)
			sales[name] = append(sales[name], apptest.DisputedSale{
				ID: r.SettledIn(currency, at+currency, "4111111111111111", at), At: at, Currency: currency,
			})
		}
	}
	for i, c := range disputeTable {
		for j, name := range processor.Names {
			if seedtest.Sampled() && j != i%len(processor.Names) {
				continue
			}
			sale := sales[name][(i+j)%len(disputedCurrencies)]
			t.Run(c.way+" at "+sale.At+" in "+sale.Currency, func(t *testing.T) {
				t.Parallel()
				r := &apptest.DisputeRun{T: t, App: r.App, M: r.M, Came: r.Came}
				r.Walk(sale, strings.Split(c.way, ", "), strings.Split(c.impossible, ", "))
			})
		}
	}
}
