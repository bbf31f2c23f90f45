package condition_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestAsMerchantsWrite checks that merchants' usual conditions can be written (D19).
func TestAsMerchantsWrite(t *testing.T) {
	for text, want := range map[string]bool{
		`payment.amount >= 2500 && payment.amount < 10000`:                                                       true,
		`payment.amount != 2500 || payment.status == "AUTHORIZED"`:                                               true,
		`!(payment.currencyCode == "USD")`:                                                                       true,
		`payment.currencyCode in ["EUR", "CHF", "GBP"]`:                                                          true,
		`payment.amount in [1000, 2500]`:                                                                         true,
		`payment.metadata.tier in [1, 3]`:                                                                        true,
		`!(payment.paymentMethod.paymentMethodData.binData.issuerCountryCode in ["DE", "AT"])`:                   true,
		`payment.orderId.startsWith("order-") && payment.orderId.endsWith("1") && payment.orderId.contains("-")`: true,
		`payment.orderId.matches("^order-[0-9]{1,6}$")`:                                                          true,
		`payment.orderId + "/" + payment.currencyCode == "order-1/EUR"`:                                          true,
		`payment.transactions.all(t, t.amount <= payment.amount)`:                                                true,
		`payment.transactions.exists(t, t.transactionType == "REFUND")`:                                          false,
		`payment.transactions.exists_one(t, t.processorName in ["ADYEN", "STRIPE"])`:                             true,
		`["gift", "vip"].exists(word, payment.metadata.note.contains(word))`:                                     true,
		`["EUR", "CHF"].exists(c, payment.transactions.all(t, payment.currencyCode == c && t.amount > 0))`:       true,
		`payment.transactions.size() == 1 && size(payment.orderId) == 7`:                                         true,
		`payment.amount / 100 * 2 + payment.amount % 100 - 1 == 49`:                                              true,
		`double(payment.amount) / 100.0 > 24.9`:                                                                  true,
		`int(payment.paymentMethod.paymentMethodData.last4Digits) == 1111`:                                       true,
		`string(payment.amount) == "2500"`:                                                                       true,
		`has(payment.customer) && has(payment.customer.email) ? payment.customer.email != "" : false`:            true,
		`!has(payment.riskData.avsCheck) || payment.riskData.avsCheck.source == "x"`:                             true,
		`"vip" in payment.metadata && payment.metadata["vip"] == true`:                                           true,
		`payment.metadata.exists(k, k == "tier")`:                                                                true,
		`payment.paymentMethod.paymentMethodData.first6Digits == null`:                                           true,
		`timestamp(payment.date) + duration("1h") > timestamp("2026-03-01T12:30:00Z")`:                           true,
		`timestamp(payment.dateUpdated) - timestamp(payment.date) < duration("90s")`:                             true,
		`timestamp(payment.date).getDayOfWeek() == 0 && timestamp(payment.date).getHours("Europe/Paris") == 13`:  true,
		`{"EUR": 2000, "CHF": 2200}[payment.currencyCode] < payment.amount`:                                      true,
		`[1, 2] == [1, 2]`: true,
	} {
		v, cost := compile(t, text).Evaluate(sample())
		if v.Holds != want || v.Error != "" {
			t.Errorf("%s: %+v", text, v)
		}
		if cost > 100 {
			t.Errorf("%s costs %d", text, cost)
		}
	}
}

// TestNothingGrows checks that no condition is accepted whose values grow with its length, or that
// makes one step arbitrarily long: it might not end (D19).
func TestNothingGrows(t *testing.T) {
	for text, want := range map[string]string{
		"[[1]]" + strings.Repeat(".map(a,a+a)", 40) + ".exists(z, 2 in z)":        "map",
		"[1]" + strings.Repeat(".map(a,[a,a])", 36) + ".exists(z, z == z)":        "map",
		`["aaaaaaaa"]` + strings.Repeat(".map(a,a+a)", 36) + ".exists(z, z == z)": "map",
		"[1]" + strings.Repeat(".filter(a, true)", 3) + ".exists(z, z == 1)":      "filter",
		nested(36):                                        "",
		`[payment.amount].exists(a, a == 1)`:              "only lists and maps of the JSON",
		`[[1, 1]].exists(a, a == [1, 1])`:                 "only lists and maps of the JSON",
		`{"a": [1]}["a"].exists(a, a == 1)`:               "only lists and maps of the JSON",
		`(true ? [1] : [2]).exists(a, a == 1)`:            "only lists and maps of the JSON",
		`[[1]] == [[1]]`:                                  "only single values, and lists",
		`payment == payment`:                              "only single values, and lists",
		`payment.transactions == payment.transactions`:    "only single values, and lists",
		`payment.transactions[0] in payment.transactions`: "only single values can be looked for",
		`[1] in [[1]]`:                                    "only single values can be looked for",
		`([1] + [1]).size() == 2`:                         "lists cannot be added",
		`dyn(payment).amount == 2500`:                     "dyn cannot be used",
		`type(payment.amount) == int`:                     "type cannot be used",
		`bytes(payment.orderId) == b"x"`:                  "bytes cannot be used",
		`payment.orderId.matches(payment.currencyCode)`:   "must be a constant",
		`payment.orderId.matches("(((a{30}){30}){30})")`:  "",
		`google.protobuf.Int64Value{value: 1} == 1`:       "objects cannot be made",
	} {
		made, faults := compiler(t).Compile(text)
		if made != nil || !strings.Contains(fmt.Sprint(faults), want) {
			t.Errorf("%.80s: %v, want %q", text, faults, want)
		}
	}
}

// nested binds lists that hold each other, without map.
func nested(n int) string {
	text := "a == 1"
	for range n {
		text = "[[a, a]].exists(a, " + text + ")"
	}
	return "[1].exists(a, " + text + ")"
}

// TestCostlyEndsSoon checks that the most expensive accepted condition ends in a moment (D19).
func TestCostlyEndsSoon(t *testing.T) {
	ten := "[0,1,2,3,4,5,6,7,8,9]"
	long := sample()
	for _, text := range []string{
		ten + `.all(a, ` + ten + `.all(b, ` + ten + `.all(c, ` + ten + `.all(d, a+b+c+d >= 0))))`,
		ten + `.all(a, ` + ten + `.all(b, ` + ten + `.all(c, payment.transactions.all(t, t.amount > a + b + c))))`,
		`("x"` + strings.Repeat(`+payment.orderId`, 40) + `).matches("(x*)*(y|[a-z])*z")`,
		`"` + strings.Repeat("a", 1500) + `".matches("` + strings.Repeat("a?", 80) + `b")`,
	} {
		began := time.Now()
		v, cost := compile(t, text).Evaluate(long)
		if took := time.Since(began); took > 10*time.Second || cost < 100 {
			t.Errorf("%.60s: took %s, cost %d: %+v", text, took, cost, v)
		}
	}
}
