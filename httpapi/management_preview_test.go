package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestRoutingPreview checks that the preview names the list that decides, its order and the
// processors left out. A payment then takes the same route (D15, D20).
func TestRoutingPreview(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	preview := func(body string) string {
		t.Helper()
		a := r.want(r.manage("POST", "/routing/preview", body), 200, "")
		route := ""
		for _, p := range a.field("processors").([]any) {
			route += " " + p.(map[string]any)["name"].(string)
		}
		return fmt.Sprint(a.field("decidedBy"), " ", a.field("rule"), route, " without", a.field("disabled"))
	}
	const euro = `{"currencyCode":"EUR","amount":2500}`
	if got := preview(euro); got != "ALL <nil> ADYEN BRAINTREE CHECKOUT PAYPAL STRIPE WORLDPAY without[]" {
		t.Errorf("without rules: %s", got)
	}
	r.want(r.manage("PUT", "/routing", `{"rules":[
		{"name":"german","when":{"countryCode":["DE"],"network":["VISA"],"minAmount":2000,"maxAmount":3000,"metadata":{"tier":2}},"processors":["PAYPAL","WORLDPAY","STRIPE"]},
		{"name":"dollars","when":{"currencyCode":["USD"]},"processors":["PAYPAL"]}],"default":["STRIPE","PAYPAL"]}`), 200, "")
	r.want(r.manage("PATCH", "/processors/PAYPAL", `{"enabled":false}`), 200, "")
	before := r.events()
	german := `{"currencyCode":"EUR","amount":2500,"network":"VISA","countryCode":"DE","metadata":{"tier":2.0}}`
	for body, want := range map[string]string{
		euro:                                "DEFAULT <nil> STRIPE without[PAYPAL]",
		german:                              "RULE german WORLDPAY STRIPE without[PAYPAL]",
		`{"currencyCode":"USD","amount":0}`: "RULE dollars without[PAYPAL]",
	} {
		if got := preview(body); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
	for body, fails := range map[string]string{
		german: "<nil>",
		`{"currencyCode":"EUR","amount":2500,"network":"JCB","countryCode":"DE","metadata":{"tier":2}}`:    "network",
		`{"currencyCode":"EUR","amount":2500,"network":"VISA","metadata":{"tier":2}}`:                      "countryCode",
		`{"currencyCode":"EUR","amount":1999,"network":"VISA","countryCode":"DE","metadata":{"tier":2}}`:   "minAmount",
		`{"currencyCode":"EUR","amount":3001,"network":"VISA","countryCode":"DE","metadata":{"tier":2}}`:   "maxAmount",
		`{"currencyCode":"EUR","amount":2500,"network":"VISA","countryCode":"DE","metadata":{"tier":"2"}}`: "metadata",
	} {
		a := r.want(r.manage("POST", "/routing/preview", body), 200, "")
		if got := fmt.Sprint(a.field("rules").([]any)[0].(map[string]any)["fails"]); got != fails {
			t.Errorf("%s fails at %s, want %s", body, got, fails)
		}
	}
	for body, want := range map[string]string{
		`{"currencyCode":"EUR","amount":2500,"routing":{"rules":[{"name":"draft","when":{"minAmount":2500},"processors":["ADYEN","PAYPAL"]}]}}`: "RULE draft ADYEN without[PAYPAL]",
		`{"currencyCode":"EUR","amount":2499,"routing":{"rules":[{"name":"draft","when":{"minAmount":2500},"processors":["ADYEN"]}]}}`:          "ALL <nil> ADYEN BRAINTREE CHECKOUT STRIPE WORLDPAY without[PAYPAL]",
	} {
		if got := preview(body); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
	twice := r.want(r.manage("POST", "/routing/preview", `{"currencyCode":"EUR","amount":1,"routing":{"rules":[{"name":"a","when":{"currencyCode":["XXQ"]},"processors":["ADYEN"]},{"name":"a","when":{},"processors":["ADYEN"]}]}}`), 422, "RequestValidationError")
	if got := strings.Join(twice.faults(), "; "); !strings.Contains(got, "$.routing.rules[0].when.currencyCode[0] must be") || !strings.Contains(got, "$.routing.rules[1].name is the name of another rule") {
		t.Errorf("%s", got)
	}
	if n := r.events() - before; n != 0 {
		t.Errorf("previews recorded %d events", n)
	}
	opened := r.session(`{"orderId":"o","currencyCode":"EUR","amount":2500,"order":{"countryCode":"DE"},"metadata":{"tier":2}}`)
	paid := r.want(r.do(request{method: "POST", path: "/payments", body: `{"paymentMethodToken":"` + r.tokenize(opened, goodCard) + `"}`}), 200, "")
	if got := paid.text1("processor", "name"); got != "WORLDPAY" {
		t.Errorf("the payment went to %s", got)
	}
	bad := r.want(r.manage("POST", "/routing/preview", `{"currencyCode":"XXQ","amount":-1,"network":"X","countryCode":"Q"}`), 422, "RequestValidationError")
	if n := len(bad.faults()); n != 4 {
		t.Errorf("%d faults: %q", n, bad.faults())
	}
}
