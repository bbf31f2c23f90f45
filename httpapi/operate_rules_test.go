package httpapi

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"payledger/domain"
)

const oneOrMore = "must be an integer between 1 and 9007199254740991"

// TestOperationBodies: every fault of a body at once, call by call (D3, D10, D12).
func TestOperationBodies(t *testing.T) {
	a := testAPI(t)
	long := strings.Repeat("é", 256)
	for _, c := range []struct {
		name, operation, body string
		want                  []string
	}{
		{"all that there is", "capturePayment", `{"amount":1,"final":false,"metadata":{"shop":"north"},"expand":["transactions.events"]}`, nil},
		{"everything wrong", "capturePayment", `{"amount":0,"final":"no","metadata":{"a":1.5},"expand":["all"],"currencyCode":"EUR","reason":"r"}`,
			[]string{"$.amount " + oneOrMore, "$.currencyCode is not a known field", "$.expand[0] must be one of transactions.events", "$.final must be true or false",
				"$.metadata.a must be a string, or an integer, or true or false", "$.reason is not a known field"}},
		{"null for an absent field", "capturePayment", `{"amount":null,"final":null,"expand":null}`, nil},
		{"too large", "capturePayment", `{"amount":9007199254740992}`, []string{"$.amount must be at most 9007199254740991 (2^53 − 1), the largest amount"}},
		{"all that there is", "refundPayment", `{"amount":1,"orderId":"o","reason":"r","transactionEventId":"e","metadata":{},"expand":[]}`, nil},
		{"everything wrong", "refundPayment", `{"amount":-1,"orderId":"` + long + `","reason":"` + long + `","transactionEventId":7,"metadata":[],"final":true}`,
			[]string{"$.amount " + oneOrMore, "$.final is not a known field", "$.metadata must be an object", "$.orderId must be at most 255 characters long",
				"$.reason must be at most 255 characters long", "$.transactionEventId must be a string"}},
		{"long texts that fit", "refundPayment", `{"orderId":"` + long[2:] + `","reason":"` + long[2:] + `"}`, nil},
		{"all that there is", "cancelPayment", `{"reason":"out of stock"}`, nil},
		{"everything wrong", "cancelPayment", `{"reason":"` + long + `","amount":1,"expand":["transactions.events"]}`,
			[]string{"$.amount is not a known field", "$.reason must be at most 255 characters long"}},
		{"no amount", "adjustPaymentAuthorization", `{"reason":"r"}`, []string{"$.amount is required", "$.reason is not a known field"}},
		{"no total", "adjustPaymentAuthorization", `{"amount":0}`, []string{"$.amount " + oneOrMore}},
		{"a fraction", "adjustPaymentAuthorization", `{"amount":1.5}`, []string{"$.amount " + oneOrMore + inMinorUnits}},
		{"no token", "resumePayment", `{"token":"t"}`, []string{"$.resumeToken is required", "$.token is not a known field; did you mean resumeToken?"}},
		{"an empty token", "resumePayment", `{"resumeToken":""}`, []string{"$.resumeToken must not be empty"}},
		{"no text", "resumePayment", `{"resumeToken":{}}`, []string{"$.resumeToken must be a string"}},
		{"no outcome", "completeRequiredAction", `{}`, []string{"$.outcome is required"}},
		{"another outcome", "completeRequiredAction", `{"outcome":"authenticated","paymentId":"p"}`,
			[]string{"$.outcome must be one of AUTHENTICATED, FAILED", "$.paymentId is not a known field"}},
	} {
		if got := faults(t, a.postCall(c.operation, c.body).accept()); !slices.Equal(got, c.want) {
			t.Errorf("%s, %s:\n got %q\nwant %q", c.operation, c.name, got, c.want)
		}
	}
}

// TestOperationMetadata: as on creation (D4, D10).
func TestOperationMetadata(t *testing.T) {
	a := testAPI(t)
	for _, operation := range []string{"capturePayment", "refundPayment"} {
		for metadata, want := range map[string]domain.Reason{
			`{"":"x"}`:                                  domain.ReasonMetadataEmptyKey,
			`{"":"x","a":1.5}`:                          domain.ReasonRequestValidation,
			`{"a":9007199254740992}`:                    domain.ReasonRequestValidation,
			`{"a":"4111111111111111"}`:                  domain.ReasonRequestValidation,
			`{"a":"` + strings.Repeat("x", 4096) + `"}`: domain.ReasonRequestValidation,
		} {
			if err := a.postCall(operation, `{"metadata":`+metadata+`}`).accept(); domain.ReasonOf(err) != want {
				t.Errorf("%s %.40s: %v", operation, metadata, err)
			}
		}
	}
}

// TestOperationTexts checks that free text refuses card numbers, and which fields are not free text
// (D1).
func TestOperationTexts(t *testing.T) {
	const number = "4111 1111 1111 1111"
	a := testAPI(t)
	for _, c := range []struct{ operation, field string }{
		{"cancelPayment", "reason"}, {"refundPayment", "reason"}, {"refundPayment", "orderId"},
	} {
		err := a.postCall(c.operation, fmt.Sprintf(`{%q:"again with %s"}`, c.field, number)).accept()
		if got := faults(t, err); len(got) != 1 || !strings.HasPrefix(got[0], "$."+c.field+" "+"must not hold a card number") || strings.Contains(err.Error(), number) {
			t.Errorf("%s %s: %v", c.operation, c.field, err)
		}
	}
	for operation, field := range map[string]string{"refundPayment": "transactionEventId", "resumePayment": "resumeToken"} {
		if err := a.postCall(operation, fmt.Sprintf(`{%q:"4111-1111-1111-1111"}`, field)).accept(); err != nil {
			t.Errorf("%s %s: %v", operation, field, err)
		}
	}
}

// TestNothing: an empty body, null and {} mean the same where a body may be left out, and nothing
// else does (D1).
func TestNothing(t *testing.T) {
	a := testAPI(t)
	optional := []string{"capturePayment", "refundPayment", "cancelPayment", "approvePaymentAttempt", "abortPaymentAttempt",
		"captureManagedPayment", "refundManagedPayment", "cancelManagedPayment"}
	for name, o := range a.operations {
		if o.Body == nil {
			continue
		}
		if o.Optional != slices.Contains(optional, name) {
			t.Errorf("%s: may the body be left out? %v", name, o.Optional)
		}
		for _, body := range []string{"", " \r\n\t", "null", " null\n"} {
			c := a.postCall(name, body)
			err := c.accept()
			switch {
			case !o.Optional && domain.ReasonOf(err) != domain.ReasonMalformedJSON:
				t.Errorf("%s %q: %v", name, body, err)
			case o.Optional && (err != nil || string(c.Body.Text) != "{}"):
				t.Errorf("%s %q: %v %q", name, body, err, c.Body.Text)
			}
		}
		for _, body := range []string{"nul", "null null", "nullx", "[]", `""`, "false", "NULL", "\v", "\u00a0"} {
			if err := a.postCall(name, body).accept(); domain.ReasonOf(err) != domain.ReasonMalformedJSON {
				t.Errorf("%s %q: %v", name, body, err)
			}
		}
	}
	c := a.postCall("capturePayment", "null")
	c.r.Header.Set("Content-Type", "text/plain")
	if err := c.accept(); domain.ReasonOf(err) != domain.ReasonUnsupportedMediaType {
		t.Errorf("null as text: %v", err)
	}
	c = a.postCall("capturePayment", "")
	c.r.Header.Del("Content-Type")
	if err := c.accept(); err != nil {
		t.Errorf("nothing at all: %v", err)
	}
}
