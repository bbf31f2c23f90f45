package workflowpages

import (
	"net/url"
	"testing"

	"payledger/domain"
)

// TestUnitOf: amounts are typed in the currency that a condition demands of every payment. A
// comparison that need not hold names none.
func TestUnitOf(t *testing.T) {
	t.Parallel()
	for condition, want := range map[string]domain.Currency{
		`payment.currencyCode == "EUR"`: "EUR", `payment.amount < 5000 && payment.currencyCode=='JPY'`: "JPY",
		`(payment.amount < 5) && payment.currencyCode == "KWD" && payment.orderId != "a|b"`: "KWD",
		"": "", "true": "", `payment.currencyCode == "XXQ"`: "", `payment.currencyCode != "EUR"`: "", `dispute.currency == "EUR"`: "",
		`payment.currencyCode == "EUR" || payment.amount < 5`:                         "",
		`!(payment.amount < 5 && payment.currencyCode == "EUR" && true)`:              "",
		`[1].all(x, true && payment.currencyCode == "EUR" && x > 0)`:                  "",
		`payment.orderId == "a && payment.currencyCode == 'EUR' && b"`:                "",
		"true // && payment.currencyCode == \"EUR\"":                                  "",
		`payment.amount < 5 ? true && payment.currencyCode == "EUR" && true : true`:   "",
		`true && payment.currencyCode == "EUR" && payment.currencyCode != "" == true`: "EUR",
	} {
		if got := unitOf(condition); got != want {
			t.Errorf("%s: %q, want %q", condition, got, want)
		}
	}
}

// TestConvert: an amount keeps its value when the condition gets another currency: it was typed in
// the unit that the page named. That it has another unit is reported.
func TestConvert(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ from, to, typed, want string }{
		{"", "EUR", "1050", "10.50"}, {"EUR", "", "10.50", "1050"}, {"EUR", "JPY", "10.50", "1050"}, {"EUR", "EUR", "10.5", "10.5"},
		{"", "", "x", "x"}, {"", "EUR", "10.50", "10.50"}, {"EUR", "", "", ""}, {"no", "EUR", "5", "5"},
	} {
		values := url.Values{"amountUnit": {c.from}, "actions[0].type": {"capture"}, "actions[0].amount": {c.typed}}
		if c.to != "" {
			values.Set("condition", `payment.currencyCode == "`+c.to+`"`)
		}
		changed := convert(values)
		if got := values.Get("actions[0].amount"); got != c.want || values.Get("amountUnit") != c.to || changed != (c.typed != "" && c.from != c.to && c.from != "no") {
			t.Errorf("%+v: %s in %s, changed %t", c, got, values.Get("amountUnit"), changed)
		}
	}
}
