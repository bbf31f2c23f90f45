package httpapi_test

import (
	"slices"
	"strings"
	"testing"
)

// entered is a card that was entered in a form of STRIPE, which gave a token.
func entered(token, more string) string {
	return `{"processorToken":{"processor":"STRIPE","token":"` + token + `","network":"VISA","last4Digits":"4242","expirationMonth":"12","expirationYear":"2031"}` + more + `}`
}

const formToken = "tok_form_visa-2_203112"

// TestProcessorToken: a token of a processor's own form pays at this processor only, and stands in
// no answer and no event (D12).
func TestProcessorToken(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	made := r.want(r.browser(r.session(someSession), entered(formToken, "")), 200, "")
	if made.text1("paymentMethodData", "last4Digits") != "4242" || made.text1("paymentMethodData", "network") != "VISA" || made.field("paymentMethodData", "firstDigits") != nil {
		t.Error(made.text)
	}
	paid := r.want(r.post("/payments", `{"paymentMethodToken":"`+made.text1("token")+`","expand":["transactions.events"]}`), 200, "")
	sale := paid.field("transactions").([]any)[0].(map[string]any)
	if paid.text1("status") != "AUTHORIZED" || paid.text1("processor", "name") != "STRIPE" || paid.text1("cardTokenType") != "PROCESSOR_TOKEN" || sale["cardTokenType"] != "PROCESSOR_TOKEN" {
		t.Error(paid.text)
	}
	events := r.want(r.get("/payments/"+paid.text1("id")+"/events"), 200, "")
	for _, text := range []string{made.text, paid.text, events.text} {
		if strings.Contains(text, "tok_form") {
			t.Errorf("the token stands in %s", text)
		}
	}
	declined := r.want(r.browser(r.session(guestSession), entered("tok_form_visa-do-not-honor_203112", "")), 200, "").text1("token")
	if p := r.want(r.post("/payments", `{"paymentMethodToken":"`+declined+`"}`), 200, ""); p.text1("status") != "DECLINED" || len(p.field("transactions").([]any)) != 1 {
		t.Error(p.text) // no other processor is tried
	}
	unknown := r.want(r.browser(r.session(guestSession), entered("tok_gone", "")), 200, "").text1("token")
	if p := r.want(r.post("/payments", `{"paymentMethodToken":"`+unknown+`"}`), 200, ""); p.text1("status") != "FAILED" || p.text1("cardTokenType") != "PROCESSOR_TOKEN" || len(p.field("transactions").([]any)) != 1 {
		t.Error(p.text)
	}
}

// TestProcessorTokenVaulted: a token of a form that is vaulted pays again, with the token that the
// processor gave for it.
func TestProcessorTokenVaulted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	token := r.want(r.browser(r.session(guestSession), entered(formToken, "")), 200, "").text1("token")
	first := r.want(r.post("/payments", `{"paymentMethodToken":"`+token+`","customerId":"customer-7","paymentMethod":{"vaultOnSuccess":true}}`), 200, "")
	again := r.want(r.post("/payments", repeatedly(token)), 200, "")
	for _, p := range []answer{first, again} {
		if p.text1("status") != "AUTHORIZED" || p.text1("processor", "name") != "STRIPE" || p.text1("cardTokenType") != "PROCESSOR_TOKEN" || p.field("paymentMethod", "isVaulted") != true {
			t.Error(p.text)
		}
	}
}

// TestProcessorTokenElsewhere: without a way to the processor a payment is refused before anything
// is recorded.
func TestProcessorTokenElsewhere(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	token := r.want(r.browser(r.session(someSession), entered(formToken, "")), 200, "").text1("token")
	r.want(r.do(request{method: "PUT", path: "/management/routing", body: `{"rules":[],"default":["ADYEN","PAYPAL"]}`}), 200, "")
	before := r.events()
	refused := r.want(r.post("/payments", `{"paymentMethodToken":"`+token+`"}`), 400, "PaymentError")
	if !strings.Contains(refused.text, "STRIPE") || r.events() != before {
		t.Error(refused.text)
	}
	r.want(r.do(request{method: "PUT", path: "/management/routing", body: `{"rules":[],"default":["ADYEN","STRIPE"]}`}), 200, "")
	if p := r.want(r.post("/payments", `{"paymentMethodToken":"`+token+`"}`), 200, ""); p.text1("processor", "name") != "STRIPE" {
		t.Error(p.text)
	}
}

// TestProcessorTokenRules: a card is entered with its number or with a token, which is no number.
func TestProcessorTokenRules(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	client := r.session(someSession)
	number := `"paymentInstrument":{"number":"4111111111111111","cvv":"737","expirationMonth":"03","expirationYear":"` + expires + `"}`
	for body, path := range map[string]string{
		`{}`:                            "$.paymentInstrument",
		`{"paymentFlow":"VAULT"}`:       "$.paymentInstrument",
		entered(formToken, ","+number):  "$.paymentInstrument",
		entered("4242424242424242", ""): "$.processorToken.token",
		entered("two words", ""):        "$.processorToken.token",
		strings.Replace(entered(formToken, ""), "STRIPE", "NOBODY", 1): "$.processorToken.processor",
		strings.Replace(entered(formToken, ""), `"2031"`, `"2021"`, 1): "$.processorToken.expirationYear",
		strings.Replace(entered(formToken, ""), `"4242"`, `"42"`, 1):   "$.processorToken.last4Digits",
	} {
		refused := r.want(r.browser(client, body), 422, "RequestValidationError")
		if !slices.ContainsFunc(refused.faults(), func(f string) bool { return strings.HasPrefix(f, "PaymentInstrumentRequest "+path) }) {
			t.Errorf("%s: %s", body, refused.text)
		}
	}
}
