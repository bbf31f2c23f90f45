package httpapi_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"payledger/eventstore/eventstoretest"
)

// TestSessionAnswers: a session is answered as it counts (§2.5, D4).
func TestSessionAnswers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, c := range []struct {
		name, body string
		amount     any
		warnings   []string
	}{
		{"nothing", `{}`, nil, []string{"orderId", "currencyCode", "order.lineItems"}},
		{"all that a checkout needs", someSession, 2420.0, nil},
		{"an amount over the order's", `{"orderId":"o","currencyCode":"EUR","amount":7,"order":{"lineItems":[{"amount":5}]}}`, 7.0, nil},
		{"amount × quantity − discount + tax + shipping + fees",
			`{"orderId":"o","currencyCode":"EUR","order":{"lineItems":[{"amount":100,"quantity":3,"discountAmount":50,"taxAmount":25},{"amount":10}],
			"shipping":{"amount":400},"fees":[{"amount":1},{"amount":2}]}}`, 688.0, nil},
		{"quantity 0", `{"orderId":"o","currencyCode":"EUR","order":{"lineItems":[{"amount":100,"quantity":0}]}}`, 0.0, nil},
		{"no line items", `{"orderId":"o","currencyCode":"EUR","order":{"lineItems":[]}}`, nil, []string{"order.lineItems"}},
		{"the largest amount", `{"orderId":"o","currencyCode":"EUR","amount":9007199254740991,"order":{"lineItems":[{"amount":1}]}}`, 9007199254740991.0, nil},
	} {
		a := r.want(r.do(request{method: "POST", path: "/client-session", body: c.body}), 200, "")
		var warned []string
		warnings, _ := a.field("warnings").([]any)
		for _, w := range warnings {
			w := w.(map[string]any)
			if w["type"] != "CHECKOUT" || w["code"] != "MISSING_DATA" {
				t.Errorf("%s: warning %v", c.name, w)
			}
			warned = append(warned, strings.TrimSuffix(strings.TrimPrefix(w["message"].(string), "A checkout needs "), "."))
		}
		if a.field("amount") != c.amount || !slices.Equal(warned, c.warnings) {
			t.Errorf("%s: amount %v, warnings %q", c.name, a.field("amount"), warned)
		}
		expires, err := time.Parse(time.RFC3339Nano, a.text1("clientExpirationDate"))
		if left := time.Until(expires); err != nil || left < 59*time.Minute || left > time.Hour || a.text1("clientTokenExpirationDate") != a.text1("clientExpirationDate") {
			t.Errorf("%s: expires %s", c.name, a.text)
		}
	}
}

// TestSessionEchoes checks that the answer contains the fields as sent, and no absent fields (D4).
func TestSessionEchoes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	sent := `{"orderId":"order-1","customerId":"c-1","currencyCode":"JPY","amount":500,
		"order":{"lineItems":[{"itemId":"a","name":"Tea","description":"Green","amount":500,"quantity":1,"discountAmount":1,"taxAmount":1,"taxCode":"T",
			"productType":"PHYSICAL","productData":{"sku":"s","brand":"b","color":"c","globalTradeItemNumber":"36000000000008","manufacturerPartNumber":"m",
			"weight":1.5,"weightUnit":"kg","pageUrl":"https://shop.example/tea"}}],
			"fees":[{"type":"SURCHARGE","description":"card","amount":3}],"shipping":{"amount":4,"methodId":"1","methodName":"Post","methodDescription":"slow"},
			"countryCode":"JP","retailerCountryCode":"DE"},
		"customer":{"email":"ada@example.com","emailAddress":"ada@example.com","mobileNumber":"+441234567890","firstName":"Ada","lastName":"Lovelace","taxId":"t","nationalDocumentId":"n",
			"billingAddress":{"firstName":"Ada","lastName":"Lovelace","addressLine1":"1","addressLine2":"2","city":"London","state":"LDN","countryCode":"GB","postalCode":"W1"},
			"shippingAddress":{"city":"Paris","countryCode":"FR"}},
		"metadata":{"text":"x","number":-7,"yes":true},
		"paymentMethod":{"vaultOnSuccess":true,"vaultOn3DS":true,"vaultOnAgreement":true,"descriptor":"TEA","paymentType":"ECOMMERCE","authorizationType":"FINAL","firstPaymentReason":"Recurring"},
		"approvalMode":"MANUAL","returnUrl":"https://shop.example/done"}`
	a := r.want(r.do(request{method: "POST", path: "/client-session", body: sent}), 200, "")
	var want map[string]any
	must(t, json.Unmarshal([]byte(sent), &want))
	for name, value := range want {
		if !reflect.DeepEqual(a.json[name], value) {
			t.Errorf("%s is %v, was sent as %v", name, a.json[name], value)
		}
	}
	bare := r.want(r.do(request{method: "POST", path: "/client-session", body: `{}`}), 200, "")
	var names []string
	for name := range bare.json {
		names = append(names, name)
	}
	slices.Sort(names)
	if want := []string{"approvalMode", "clientExpirationDate", "clientToken", "clientTokenExpirationDate", "warnings"}; !slices.Equal(names, want) {
		t.Errorf("a bare session has %q", names)
	}
	for _, spelling := range []string{"email", "emailAddress"} {
		one := r.want(r.do(request{method: "POST", path: "/client-session", body: `{"customer":{"` + spelling + `":"ada@example.com"}}`}), 200, "")
		if one.text1("customer", "email") != "ada@example.com" || one.text1("customer", "emailAddress") != "ada@example.com" {
			t.Errorf("%s: %s", spelling, one.text)
		}
	}
}

// longOrder is a session of less than 1 MiB that makes the stored object too large.
var longOrder = `{"currencyCode":"EUR","order":{"lineItems":[` + strings.Repeat(`{"amount":1,"description":"`+strings.Repeat("ü", 250)+`"},`, 499) + `{"amount":1}]}}`

// TestSessionRefusals checks that every amount needs a currency (§7), and that a refused request
// records nothing.
func TestSessionRefusals(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	before := r.events()
	for _, c := range []struct {
		body    string
		status  int
		errorID string
	}{
		{`{"amount":0}`, 400, "ClientSessionValidationError"},
		{`{"order":{"lineItems":[{"amount":1}]}}`, 400, "ClientSessionValidationError"},
		{`{"order":{"fees":[{"amount":1}]}}`, 400, "ClientSessionValidationError"},
		{`{"order":{"shipping":{"amount":1}}}`, 400, "ClientSessionValidationError"},
		{`{"currencyCode":"EUR","order":{"lineItems":[{"amount":1,"discountAmount":2}]}}`, 400, "ClientSessionValidationError"},
		{`{"currencyCode":"EUR","order":{"lineItems":[{"amount":9007199254740991,"quantity":2}]}}`, 400, "ClientSessionValidationError"},
		{`{"metadata":{"":1}}`, 400, "MetadataContainsEmptyKey"},
		{`{"currencyCode":"eur"}`, 422, "RequestValidationError"},
		{`{"currencyCode":""}`, 422, "RequestValidationError"},
		{`{"orderId":7}`, 422, "RequestValidationError"},
		{`{"approvalMode":"manual"}`, 422, "RequestValidationError"},
		{`{"customer":{"firstName":"4111 1111 1111 1111"}}`, 422, "RequestValidationError"},
		{`{"clientToken":"x"}`, 422, "RequestValidationError"},
		{``, 400, "MalformedJson"},
		{`null`, 400, "MalformedJson"},
		{`[]`, 400, "MalformedJson"},
		{longOrder, 413, "RequestTooLarge"},
	} {
		a := r.do(request{method: "POST", path: "/client-session", body: c.body, header: map[string]string{"Content-Type": "application/json"}})
		if a.status != c.status || a.errorID() != c.errorID {
			t.Errorf("%.200s: %d %s", c.body, a.status, a.text)
		}
		if a.status == 422 && (len(a.faults()) != 1 || !strings.HasPrefix(a.faults()[0], "ClientSessionRequest $.")) {
			t.Errorf("%s: %q", c.body, a.faults())
		}
	}
	if after := r.events(); after != before {
		t.Errorf("refused sessions left %d events", after-before)
	}
}

// TestShippingAndFeesAlone checks that a session of only shipping and fees has an amount, their
// sum, and can be paid (D4).
func TestShippingAndFeesAlone(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newRig(t)
	for order, amount := range map[string]float64{
		`{"shipping":{"amount":500}}`: 500, `{"fees":[{"amount":300},{"amount":20}]}`: 320, `{"shipping":{"amount":500},"fees":[{"amount":20}]}`: 520,
		`{"lineItems":[],"shipping":{"amount":500}}`: 500,
	} {
		client := r.session(`{"orderId":"o","currencyCode":"EUR","order":` + order + `}`)
		if shown := r.readSession(client); shown.field("amount") != amount {
			t.Errorf("%s: %s", order, shown.text)
		}
		if page := r.get("/checkout?clientToken=" + client); page.status != 200 {
			t.Errorf("the page of %s: %d", order, page.status)
		}
		if paid := r.want(r.pay(payWith(r.tokenize(client, goodCard))), 200, ""); paid.field("amount") != amount {
			t.Errorf("%s: %s", order, paid.text)
		}
		r.want(r.do(request{method: "POST", path: "/client-session", body: `{"orderId":"o","order":` + order + `}`}), 400, "ClientSessionValidationError")
	}
	priceless := r.session(`{"orderId":"o","currencyCode":"EUR","order":{"shipping":{"methodId":"post"}}}`)
	r.want(r.pay(payWith(r.tokenize(priceless, goodCard))), 422, "RequestValidationError")
}
