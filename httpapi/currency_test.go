package httpapi_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"payledger/eventstore/eventstoretest"
)

// TestCurrencyAlone checks that no amount changes its currency by a default: a currency without an
// amount must be that of the session, and an amount without a currency takes the session's (D22.3).
func TestCurrencyAlone(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newRig(t)
	const (
		amount = `{"orderId":"o","currencyCode":"EUR","amount":1000}`
		lines  = `{"orderId":"o","currencyCode":"EUR","order":{"lineItems":[{"amount":400}],"shipping":{"amount":600}}}`
		bare   = `{"orderId":"o","currencyCode":"EUR"}`
	)
	for _, c := range []struct{ session, sent, fault, price string }{
		{amount, `"currencyCode":"JPY"`, "$.currencyCode", ""},
		{lines, `"currencyCode":"JPY"`, "$.currencyCode", ""},
		{lines, `"currencyCode":"JPY","order":{"lineItems":[{"amount":7}]}`, "$.currencyCode", ""},
		{bare, `"currencyCode":"JPY"`, "$.amount", ""},
		{amount, `"currencyCode":"EUR"`, "", "1000 EUR"},
		{amount, `"amount":500`, "", "500 EUR"},
		{lines, `"currencyCode":"JPY","amount":500`, "", "500 JPY"},
		{bare, `"currencyCode":"JPY","amount":500`, "", "500 JPY"},
	} {
		a := r.pay(`{"paymentMethodToken":"` + r.tokenize(r.session(c.session), goodCard) + `",` + c.sent + `}`)
		if c.fault == "" {
			r.want(a, 200, "")
			if got := fmt.Sprint(a.field("amount")) + " " + a.text1("currencyCode"); got != c.price {
				t.Errorf("%s over %s charges %s", c.sent, c.session, got)
			}
			continue
		}
		if got := r.want(a, 422, "RequestValidationError").faults(); !slices.ContainsFunc(got, func(f string) bool { return strings.Contains(f, c.fault) }) {
			t.Errorf("%s over %s: %q", c.sent, c.session, got)
		}
	}
	for _, c := range []struct{ session, change, fault string }{
		{amount, `"currencyCode":"JPY"`, "amount"},
		{amount, `"currencyCode":"JPY","amount":5`, ""},
		{amount, `"currencyCode":"JPY","amount":null`, ""},
		{lines, `"currencyCode":"JPY"`, "order.lineItems"},
		{lines, `"currencyCode":"JPY","order":{"lineItems":[{"amount":7}]}`, "order.shipping.amount"},
		{lines, `"currencyCode":"JPY","order":{"lineItems":[{"amount":7}],"shipping":{"amount":1}}`, ""},
		{lines, `"currencyCode":"JPY","order":null`, ""},
		{bare, `"currencyCode":"JPY"`, ""},
	} {
		client := r.session(c.session)
		a := r.patch(client, c.change)
		if c.fault == "" {
			if r.want(a, 200, ""); a.text1("currencyCode") != "JPY" {
				t.Errorf("%s: %s", c.change, a.text)
			}
			continue
		}
		if got := r.want(a, 422, "RequestValidationError").faults(); len(got) != 1 || !strings.HasSuffix(got[0], "$.currencyCode must stay EUR, or be sent with "+c.fault) {
			t.Errorf("%s over %s: %q", c.change, c.session, got)
		}
		if now := r.readSession(client); now.text1("currencyCode") != "EUR" {
			t.Errorf("refused and changed: %s", now.text)
		}
	}
}
