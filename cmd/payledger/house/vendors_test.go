package house_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// vendorNamed matches the name of a processor's vendor. CHECKOUT is left out: it is a word of the
// contract, too.
var vendorNamed = regexp.MustCompile(`(?i)adyen|braintree|paypal|stripe|worldpay|processor\.Checkout\b`)

// mayNameVendors lists the files and folders that may name a vendor, each with the reason.
var mayNameVendors = map[string]string{
	"domain/processor/processor.go": "the names of the simulated processors",
	"processorsim/simulator/":       "the simulated processors, and their dialects",
	"processorsim/dialects/":        "the own words of the simulated processors",
	"deploy/":                       "connectors and yardsticks, which the ledger does not link",
	"projections/list.go":           "paypal_email, a filter of the contract (D21)",
	"httpapi/payments/payments.go":  "paypal_email, a filter of the contract (D21)",
	"cmd/payledger/demo/crash.go":   "the text of a story",
}

func TestVendors(t *testing.T) {
	check(t)
	used := map[string]bool{}
	for _, s := range sources(t) {
		if s.forTests() {
			continue
		}
		found := ""
		if hasOne(strings.ToLower(s.text), "adyen", "braintree", "paypal", "stripe", "worldpay", "processor.checkout") {
			found = vendorNamed.FindString(s.text)
		}
		if found == "" {
			continue
		}
		allowed := ""
		for place := range mayNameVendors {
			if s.path == place || strings.HasSuffix(place, "/") && strings.HasPrefix(s.path, place) {
				allowed = place
			}
		}
		if used[allowed] = true; allowed == "" {
			t.Errorf("%s names %s", s.path, found)
		}
	}
	for place, why := range mayNameVendors {
		if !used[place] {
			t.Errorf("%s names no vendor any more (%s): take it off mayNameVendors", place, why)
		}
	}
}

// hasOne reports whether a text has one of the words. It is much faster than a regular expression,
// which is tried where a text may match only.
func hasOne(text string, words ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
}
