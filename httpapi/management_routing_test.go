package httpapi_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fullRouting uses everything that a rule can say.
const fullRouting = `{"rules":[` +
	`{"name":"large","when":{"currencyCode":["EUR","USD"],"network":["VISA"],"countryCode":["DE"],"minAmount":1,"maxAmount":9007199254740991,"metadata":{"tier":9007199254740991,"shop":"north","gift":true}},"processors":["STRIPE","ADYEN"]},` +
	`{"name":"rest","when":{},"processors":["CHECKOUT"]}],"default":["WORLDPAY","ADYEN"]}`

// sameJSON compares an answer with a text, ignoring the order of keys.
func sameJSON(t *testing.T, what string, got answer, want string) {
	t.Helper()
	var w map[string]any
	must(t, json.Unmarshal([]byte(want), &w))
	if d := cmp.Diff(w, got.json); d != "" {
		t.Errorf("%s (-want +got): %s", what, d)
	}
}

// TestRouting: the rules are replaced as a whole and read back as they were sent (D15, D20).
func TestRouting(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const none = `{"rules":[],"default":[]}`
	sameJSON(t, "at first", r.want(r.manage("GET", "/routing", ""), 200, ""), none)
	for i, c := range []struct {
		sent, want string
		records    uint64 // events
	}{
		{fullRouting, fullRouting, 1},
		{fullRouting, fullRouting, 0},
		{strings.ReplaceAll(fullRouting, `"minAmount":1,`, `"minAmount":1.0,`), fullRouting, 0},
		{none, none, 1},
		{`{"rules":[]}`, none, 0},
		{`{"rules":[{"name":"a","when":{"metadata":{}},"processors":["PAYPAL"]}]}`, `{"rules":[{"name":"a","when":{},"processors":["PAYPAL"]}],"default":[]}`, 1},
	} {
		before := r.events()
		put := r.want(r.manage("PUT", "/routing", c.sent), 200, "")
		if n := r.events() - before; n != c.records {
			t.Errorf("call %d recorded %d events", i, n)
		}
		sameJSON(t, fmt.Sprintf("call %d answered", i), put, c.want)
		sameJSON(t, fmt.Sprintf("call %d, read back", i), r.want(r.manage("GET", "/routing", ""), 200, ""), c.want)
	}
}

// TestRoutingTakesEffect: the first payment after the answer goes by the rules (D15).
func TestRoutingTakesEffect(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	pay := func(country string) string {
		opened := r.session(`{"orderId":"o","currencyCode":"EUR","amount":2500,"order":{"countryCode":"` + country + `"},"metadata":{"tier":2}}`)
		body := `{"paymentMethodToken":"` + r.tokenize(opened, goodCard) + `"}`
		return r.want(r.do(request{method: "POST", path: "/payments", body: body}), 200, "").text1("processor", "name")
	}
	rules := `{"rules":[{"name":"german","when":{"countryCode":["DE"],"network":["VISA"],"currencyCode":["EUR"],"minAmount":2500,"maxAmount":2500,"metadata":{"tier":2.0}},"processors":["WORLDPAY"]}],"default":["STRIPE"]}`
	r.want(r.manage("PUT", "/routing", rules), 200, "")
	if german, french := pay("DE"), pay("FR"); german != "WORLDPAY" || french != "STRIPE" {
		t.Errorf("routed to %s and %s", german, french)
	}
	r.want(r.manage("PUT", "/routing", `{"rules":[]}`), 200, "")
	if plain := pay("DE"); plain != "ADYEN" {
		t.Errorf("without rules to %s", plain)
	}
}

// TestRoutingFaults checks that one answer names all faults of the body, those found by the schema
// and those found by the rules (D3).
func TestRoutingFaults(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rule := func(name, when, processors string) string {
		return fmt.Sprintf(`{"name":%s,"when":%s,"processors":%s}`, name, when, processors)
	}
	many := slices.Repeat([]string{rule(`"n"`, `{"currencyCode":["XXQ"]}`, `["ADYEN"]`)}, 51)
	const integer, processors = "must be an integer between 0 and 9007199254740991", "must be one of ADYEN, BRAINTREE, CHECKOUT, PAYPAL, STRIPE, WORLDPAY"
	for _, c := range []struct {
		body string
		want []string
	}{
		{`{}`, []string{"$.rules is required"}},
		{`{"rules":{},"default":"ADYEN"}`, []string{"$.default must be an array", "$.rules must be an array"}},
		{`{"rules":[5,{}],"default":["ADYEN","ADYEN",7,"SQUARE"],"x":1}`, []string{
			"$.default must not name anything twice", "$.default[2] must be one of ADYEN, BRAINTREE, CHECKOUT, PAYPAL, STRIPE, WORLDPAY", "$.default[3] " + processors,
			"$.rules[0] must be an object", "$.rules[1].name is required", "$.rules[1].processors is required", "$.rules[1].when is required",
			"$.x is not a known field",
		}},
		{`{"rules":[` + rule(`""`, `{"currencyCode":["EUR","eur",4],"network":["Visa"],"countryCode":["UK"],"minAmount":-1,"maxAmount":0.5,"city":"Bonn"}`, `[]`) + `,` +
			rule(`5`, `{"minAmount":6,"maxAmount":5,"currencyCode":[]}`, `["STRIPE"]`) + `,` +
			rule(`"a"`, `{"minAmount":6,"maxAmount":"5","metadata":{"":"x","list":[1],"big":9007199254740992}}`, `["stripe"]`) + `,` +
			rule(`"a"`, `{"metadata":{"card":4111111111111111,"long":"`+strings.Repeat("x", 512)+`"}}`, `["ADYEN"]`) + `]}`, []string{
			"$.rules[0].name must not be empty", "$.rules[0].processors must not be empty",
			"$.rules[0].when.city is not a known field",
			"$.rules[0].when.countryCode[0] must be an ISO 3166-1 alpha-2 country code",
			"$.rules[0].when.currencyCode[1] must be an active ISO 4217 currency code", "$.rules[0].when.currencyCode[2] must be a string",
			"$.rules[0].when.maxAmount " + integer + ", in minor units: 1050 for 10.50 EUR", "$.rules[0].when.minAmount " + integer,
			"$.rules[0].when.network[0] must be one of AMEX, DANKORT, DINERS_CLUB, DISCOVER, ENROUTE, ELO, HIPER, INTERAC, JCB, MAESTRO, MASTERCARD, MIR, PRIVATE_LABEL, UNIONPAY, VISA, CARTES_BANCAIRES, OTHER",
			"$.rules[1].name must be a string", "$.rules[1].when.currencyCode must not be empty", "$.rules[1].when.maxAmount must not be below minAmount",
			"$.rules[2].processors[0] " + processors, "$.rules[2].when.maxAmount " + integer + ", in minor units: 1050 for 10.50 EUR", "$.rules[2].when.metadata must have no empty key",
			"$.rules[2].when.metadata.big must be a string, or an integer between -9007199254740991 and 9007199254740991, or true or false",
			"$.rules[2].when.metadata.list must be a string, or an integer between -9007199254740991 and 9007199254740991, or true or false",
			"$.rules[3].name is the name of another rule",
			"$.rules[3].when.metadata must be at most 512 bytes in all", "$.rules[3].when.metadata.card must not hold a card number: it holds 16 digits in a row, with a prefix of VISA and a right check digit",
		}},
		{`{"rules":[` + rule(`"4111 1111 1111 1111"`, `{}`, `["ADYEN"]`) + `]}`, []string{"$.rules[0].name must not hold a card number: it holds 16 digits divided as on a card, with a prefix of VISA and a right check digit"}},
	} {
		expectRefusal(t, r, c.body, c.want)
	}
	a := r.want(r.manage("PUT", "/routing", `{"rules":[`+strings.Join(many, ",")+`]}`), 422, "RequestValidationError")
	if got := a.faults(); len(got) != 1 || got[0] != "RoutingRequest $.rules must have at most 50 elements" {
		t.Errorf("%d faults: %q", len(got), got)
	}
}

func expectRefusal(t *testing.T, r *rig, body string, want []string) {
	t.Helper()
	before := r.events()
	a := r.want(r.manage("PUT", "/routing", body), 422, "RequestValidationError")
	for i := range want {
		want[i] = "RoutingRequest " + want[i]
	}
	if d := cmp.Diff(want, a.faults()); d != "" || r.events() != before {
		t.Errorf("%.80s… (-want +got): %s", body, d)
	}
}
