package httpapi_test

import (
	"slices"
	"strings"
	"testing"
)

// wishes are the preferences about the payment method that existing clients send (D21).
const wishes = `"paymentMethod":{"orderedAllowedCardNetworks":["MASTERCARD","VISA"],"paymentMethodType":"PAYMENT_CARD","options":{"GOOGLE_PAY":{"list":[1,2.50,true,"x"]}}}`

// TestPreferences checks that the session, its checkout and its payment return a session's networks
// and options as sent, in the same order. Tokenization refuses a card of another network (D21).
func TestPreferences(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	made := r.want(r.do(request{method: "POST", path: "/client-session", body: `{"orderId":"o","currencyCode":"EUR","amount":100,` + wishes + `}`}), 200, "")
	client := made.text1("clientToken")
	said := func(a answer) {
		t.Helper()
		for _, part := range []string{`"orderedAllowedCardNetworks":["MASTERCARD","VISA"]`, `"options":{"GOOGLE_PAY":{"list":[1,2.50,true,"x"]}}`} {
			if !strings.Contains(a.text, part) {
				t.Errorf("%s is not in %s", part, a.text)
			}
		}
	}
	said(made)
	said(r.want(r.readSession(client), 200, ""))
	amex := r.want(r.browser(client, `{"paymentInstrument":{"number":"378282246310005","cvv":"7373","expirationMonth":"03","expirationYear":"`+expires+`"}}`), 422, "RequestValidationError")
	if want := []string{"PaymentInstrumentRequest $.paymentInstrument.number is a card of AMEX; this checkout takes MASTERCARD, VISA"}; !slices.Equal(amex.faults(), want) {
		t.Errorf("%q", amex.faults())
	}
	page := r.do(request{method: "GET", path: "/checkout?clientToken=" + client})
	if !strings.Contains(page.text, "We take Mastercard, Visa.") {
		t.Errorf("the page does not show the networks: %s", page.text)
	}
	token := r.want(r.browser(client, `{"paymentInstrument":{"number":"4111111111111111","cvv":"737","expirationMonth":"03","expirationYear":"`+expires+`"}}`), 200, "").text1("token")
	paid := r.want(r.do(request{method: "POST", path: "/payments", body: `{"paymentMethodToken":"` + token + `"}`}), 200, "")
	said(paid)
	id := paid.text1("id")
	said(r.want(r.do(request{method: "GET", path: "/payments/" + id}), 200, ""))

	captured := r.want(r.do(request{method: "POST", path: "/payments/" + id + "/capture", body: `{"amount":40,"final":false,"order":{"lineItems":[{"itemId":"only this","amount":40}]},"expand":["transactions.events"]}`}), 200, "")
	said(captured)
	if log := r.want(r.do(request{method: "GET", path: "/payments/" + id + "/events"}), 200, ""); !strings.Contains(log.text, "only this") {
		t.Errorf("the captured order is not recorded: %s", log.text)
	}
	changed := r.want(r.do(request{method: "PATCH", path: "/client-session", body: `{"clientToken":"` + client + `","paymentMethod":{"options":null,"orderedAllowedCardNetworks":["VISA"]}}`}), 200, "")
	if strings.Contains(changed.text, "options") || !strings.Contains(changed.text, `"orderedAllowedCardNetworks":["VISA"]`) {
		t.Errorf("changed: %s", changed.text)
	}
	large := r.want(r.do(request{method: "POST", path: "/client-session", body: `{"paymentMethod":{"options":"` + strings.Repeat("x", 8<<10) + `"}}`}), 422, "RequestValidationError")
	if want := []string{"ClientSessionRequest $.paymentMethod.options must be at most 8192 bytes of JSON"}; !slices.Equal(large.faults(), want) {
		t.Errorf("%q", large.faults())
	}
	r.want(r.do(request{method: "POST", path: "/client-session", body: `{"paymentMethod":{"options":{"pan":4111111111111111}}}`}), 422, "RequestValidationError")
}

// TestNullsMeanAbsent: at any depth of a new thing or an operation (D21); in an element of an array
// of a change, too.
func TestNullsMeanAbsent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	made := r.want(r.do(request{method: "POST", path: "/client-session", body: `{"orderId":"o","currencyCode":"EUR","amount":null,"returnUrl":null,"metadata":{"a":null,"b":9007199254740991},
		"customer":{"email":"ada@example.com","billingAddress":null,"firstName":null},"order":{"lineItems":[{"itemId":null,"amount":700,"productData":{"sku":null}}],"fees":null},"paymentMethod":{"descriptor":null}}`}), 200, "")
	if made.field("amount") != 700.0 || !strings.Contains(made.text, `"metadata":{"b":9007199254740991}`) || strings.Contains(made.text, "null") {
		t.Errorf("session %s", made.text)
	}
	client := made.text1("clientToken")
	changed := r.want(r.do(request{method: "PATCH", path: "/client-session", body: `{"clientToken":"` + client + `","customer":null,"order":{"lineItems":[{"name":null,"amount":800}]}}`}), 200, "")
	if changed.field("amount") != 800.0 || changed.field("customer") != nil {
		t.Errorf("changed: %s", changed.text)
	}
	token := r.want(r.browser(client, `{"paymentInstrument":{"number":"4111111111111111","cvv":"737","expirationMonth":"03","expirationYear":"`+expires+`","cardholderName":null},"tokenType":null}`), 200, "").text1("token")
	id := r.want(r.do(request{method: "POST", path: "/payments", body: `{"paymentMethodToken":"` + token + `","orderId":null,"customer":null,"expand":null}`}), 200, "").text1("id")
	r.want(r.do(request{method: "POST", path: "/payments/" + id + "/capture", body: `{"amount":null,"final":null,"metadata":null}`}), 200, "")
	missing := r.want(r.do(request{method: "POST", path: "/payments", body: `{"paymentMethodToken":null}`}), 422, "RequestValidationError")
	if want := []string{"PaymentCreation $.paymentMethodToken is required"}; !slices.Equal(missing.faults(), want) {
		t.Errorf("%q", missing.faults())
	}
}

// TestWhatClientsSend: the smaller things that existing clients send (D21).
func TestWhatClientsSend(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	long := strings.Repeat("9 ", 127) + "x"
	made := r.want(r.do(request{method: "POST", path: "/client-session", body: strings.ReplaceAll(`{"orderId":"o","currencyCode":"EUR","order":{"lineItems":[{"amount":100,"taxCode":"#"}],"fees":[{"type":"#","amount":1}]},
		"customer":{"mobileNumber":"#","taxId":"#","nationalDocumentId":"#","billingAddress":{"postalCode":"#"}}}`, "#", long)}), 200, "")
	if strings.Count(made.text, long) != 6 || strings.Contains(made.text, "warnings") {
		t.Errorf("session %s", made.text)
	}
	for _, body := range []string{`{"amount":9007199254740992,"currencyCode":"EUR"}`, `{"amount":1e300,"currencyCode":"EUR"}`} {
		large := r.want(r.do(request{method: "POST", path: "/client-session", body: body}), 422, "RequestValidationError")
		if want := []string{"ClientSessionRequest $.amount must be at most 9007199254740991 (2^53 − 1), the largest amount"}; !slices.Equal(large.faults(), want) {
			t.Errorf("%s: %q", body, large.faults())
		}
	}
	token := r.want(r.browser(made.text1("clientToken"), `{"paymentInstrument":{"number":"4111111111111111","cvv":"737","expirationMonth":"03","expirationYear":"`+expires+`"}}`), 200, "").text1("token")
	id := r.want(r.do(request{method: "POST", path: "/payments", body: `{"paymentMethodToken":"` + token + `","paymentMethod":{"authorizationType":"ESTIMATED"}}`}), 200, "").text1("id")
	for _, operation := range []string{`adjust-authorization {"amount":200,"expand":["transactions.events"]}`, `cancel {"expand":["transactions.events"]}`} {
		path, body, _ := strings.Cut(operation, " ")
		done := r.want(r.do(request{method: "POST", path: "/payments/" + id + "/" + path, body: body}), 200, "")
		if !strings.Contains(done.text, `"events":[`) {
			t.Errorf("%s is not expanded: %s", path, done.text)
		}
	}
	for _, name := range []string{"paypal_email", "klarna_email"} {
		if found := r.want(r.do(request{method: "GET", path: "/payments?" + name + "=ada@example.com"}), 200, ""); len(found.field("data").([]any)) != 0 {
			t.Errorf("%s matches %s", name, found.text)
		}
	}
	if found := r.want(r.do(request{method: "GET", path: "/payments"}), 200, ""); len(found.field("data").([]any)) != 1 {
		t.Errorf("the list: %s", found.text)
	}
}
