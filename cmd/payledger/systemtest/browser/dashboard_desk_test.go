//go:build system && !race

package browser

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// desk is an office whose screens are looked at with nothing to show, with some and with many rows.
type desk struct {
	office
	attempts   []string
	comparison string
}

// longID has no place to break, and rightToLeft is a text of letters from right to left.
const (
	longID      = "order-0123456789-0123456789-0123456789-0123456789-0123456789-0123456789-0123456789"
	rightToLeft = "طلب رقم ٧ <b>"
)

var orders = []string{"order-1", longID, rightToLeft}

func customerOf(order string) string { return "customer of " + order }

// TestDashboardDesk: the screens of approvals, customers, settings, sessions, requests and
// comparisons in Chromium, with no rows, with three (a long id and a right-to-left one among them),
// and with many.
func TestDashboardDesk(t *testing.T) {
	t.Parallel()
	o, there := newOffice(t)
	if !there {
		return
	}
	d := &desk{office: o}
	d.look(t, "none")
	for i, order := range orders {
		d.wait(t, order)
		d.save(t, order, i)
	}
	d.compare(t)
	d.look(t, "some")
	for i := range 60 {
		d.wait(t, fmt.Sprintf("order-%d", i))
	}
	d.look(t, "many")
	t.Run("approve", d.testApprove)
}

// wait starts a payment attempt that waits for a decision.
func (d *desk) wait(t *testing.T, order string) {
	t.Helper()
	m := d.merchant
	var session, tool struct{ ClientToken, Token string }
	m.Must(t, "POST", "/client-session", m.Headers(), map[string]any{
		"orderId": order, "customerId": customerOf(order), "currencyCode": "EUR", "amount": 123450, "approvalMode": "MANUAL",
	}).Decode(t, &session)
	client := map[string]string{"X-Client-Token": session.ClientToken}
	m.Must(t, "POST", "/payment-instruments", client, map[string]any{
		"paymentInstrument": map[string]any{"number": approvedCard, "cvv": "737", "expirationMonth": "03", "expirationYear": "2031", "cardholderName": "Ada Lovelace"},
	}).Decode(t, &tool)
	var made struct{ CurrentAttempt struct{ ID string } }
	got, err := m.Call("POST", "/payment-attempts", client, map[string]any{"paymentMethodToken": tool.Token})
	if err != nil || got.Status != http.StatusAccepted {
		t.Fatal(got.Status, string(got.Body), err)
	}
	got.Decode(t, &made)
	d.attempts = append(d.attempts, made.CurrentAttempt.ID)
}

// compare compares the ledger with the books of a processor.
func (d *desk) compare(t *testing.T) {
	t.Helper()
	d.pay(t, approvedCard)
	var made struct{ ID string }
	d.merchant.Must(t, "POST", "/management/reconciliation-runs", d.merchant.Headers(), map[string]any{"processor": "ADYEN"}).Decode(t, &made)
	d.comparison = made.ID
}

// save saves cards for the customer of an order.
func (d *desk) save(t *testing.T, order string, cards int) {
	t.Helper()
	m := d.merchant
	for i := range cards {
		var session struct{ ClientToken string }
		m.Must(t, "POST", "/client-session", m.Headers(), map[string]any{"orderId": order, "customerId": customerOf(order), "currencyCode": "EUR", "amount": 1}).Decode(t, &session)
		m.Must(t, "POST", "/payment-instruments", map[string]string{"X-Client-Token": session.ClientToken}, map[string]any{"paymentFlow": "VAULT", "paymentInstrument": map[string]any{
			"number": approvedCard, "cvv": "737", "expirationMonth": "03", "expirationYear": "2031", "cardholderName": []string{"Ada Lovelace", "عائشة"}[i],
		}})
	}
}

// pages are the addresses of the screens, by a name: of the lists, and of single things if there
// are some.
func (d *desk) pages(rows string) map[string]string {
	all := map[string]string{
		"approvals": "/dashboard/approvals", "customers": "/dashboard/customers", "customer-none": "/dashboard/customers?customer=nobody",
		"settings": "/dashboard/settings", "sessions": "/dashboard/sessions", "requests": "/dashboard/requests", "reconciliation": "/dashboard/reconciliation",
	}
	if rows != "some" {
		return all
	}
	all["comparison"] = "/dashboard/reconciliation/" + d.comparison
	for i, id := range d.attempts[:len(orders)] {
		customer := url.Values{"id": {customerOf(orders[i])}}.Encode()
		all[fmt.Sprintf("approval-%d", i)] = "/dashboard/approvals/" + id
		all[fmt.Sprintf("customer-%d", i)] = "/dashboard/customers/one?" + customer
		all[fmt.Sprintf("erase-%d", i)] = "/dashboard/customers/erase?" + customer
	}
	return all
}

// look opens every screen on a telephone and a desk, in light and dark: axe-core finds nothing, and
// no page is wider than the screen.
func (d *desk) look(t *testing.T, rows string) {
	for _, l := range looks() {
		if rows == "many" && l.dark {
			continue
		}
		t.Run(rows+" at "+l.String(), func(t *testing.T) {
			w := d.browser.look(t, l, expected...)
			w.withAxe(d.axe)
			d.signIn(w, "/dashboard/me")
			for name, path := range d.pages(rows) {
				w.load(d.app.Ready().API + path)
				w.until(`document.querySelector("main h1") !== null`)
				w.accessible(name + ", " + rows)
				w.inSight(name + ", " + rows)
				w.picture(fmt.Sprintf("desk-%s-%s-%d-%t", name, rows, l.width, l.dark))
			}
		})
	}
}

// testApprove: two tabs with the same attempt, both approve: there is one payment.
func (d *desk) testApprove(t *testing.T) {
	id := d.attempts[0]
	var at []string
	var tabs []*tab
	for range 2 {
		w := d.browser.tab(t, 1280, expected...)
		d.signIn(w, "/dashboard/approvals/"+id)
		w.until(`document.querySelector('form[action$="/approve"]') !== null`)
		tabs = append(tabs, w)
	}
	for _, w := range tabs {
		w.click(`form[action$="/approve"] button`)
		w.untilText("main", "The attempt is approved: this is its payment.")
		at = append(at, eval[string](w, "location.pathname"))
	}
	if at[0] != at[1] || !strings.HasPrefix(at[0], "/dashboard/payments/") {
		t.Errorf("the tabs lead to %q", at)
	}
}
