package main

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"payledger/eventstore/eventstoretest"
)

// refusal is a request that gets an errorId.
type refusal struct {
	method, path string
	header       map[string]string
	body         any
}

// refusals make the error answers that the documentation shows, by errorId.
var refusals = map[string]func(*reader) refusal{
	"MalformedJson":          func(r *reader) refusal { return refusal{"POST", "/client-session", r.headers(), " "} },
	"RequestValidationError": func(r *reader) refusal { return refusal{"POST", "/client-session", r.headers(), wrongSession} },
	"ClientSessionValidationError": func(r *reader) refusal {
		return refusal{"POST", "/client-session", r.headers(), `{"orderId": "order-1001", "amount": 2500}`}
	},
	"MetadataContainsEmptyKey": func(r *reader) refusal {
		return refusal{"POST", "/payments", r.headers(), map[string]any{"paymentMethodToken": r.card(r.session(nil), plainCard), "metadata": map[string]any{"": "x"}}}
	},
	"PaymentError": func(r *reader) refusal { return refusal{"GET", "/payments/" + examplePayment, r.headers(), nil} },
	"EntityNotFound": func(r *reader) refusal {
		return refusal{"GET", "/management/disputes/" + exampleDispute, r.headers(), nil}
	},
	"InvalidPaymentStatus": func(r *reader) refusal {
		return refusal{"POST", "/payments/" + r.captured() + "/cancel", r.headers(), nil}
	},
	"IncorrectPaymentAuthorizationType": func(r *reader) refusal {
		return refusal{"POST", "/payments/" + r.paid(plainCard, nil) + "/adjust-authorization", r.headers(), `{"amount": 3000}`}
	},
	"PaymentIsNotAuthorizedYet": func(r *reader) refusal {
		return refusal{"POST", "/payments/" + r.paid("4916994064252017", estimated) + "/adjust-authorization", r.headers(), `{"amount": 3000}`}
	},
	"AdjustAuthorizationNotSupported": func(r *reader) refusal {
		return refusal{"POST", "/payments/" + r.paid(plainCard, map[string]any{"amount": 0, "paymentMethod": estimated["paymentMethod"]}) + "/adjust-authorization", r.headers(), `{"amount": 3000}`}
	},
	"PaymentAlreadyRefunded": func(r *reader) refusal {
		payment := r.captured()
		r.must(r.t, "POST", "/payments/"+payment+"/refund", r.headers(), nil)
		return refusal{"POST", "/payments/" + payment + "/refund", r.headers(), nil}
	},
	"UnprocessableRefundAmount": func(r *reader) refusal {
		payment := r.captured()
		r.must(r.t, "POST", "/payments/"+payment+"/refund", r.headers(), `{"amount": 80}`)
		return refusal{"POST", "/payments/" + payment + "/refund", r.headers(), `{"amount": 99999}`}
	},
	"IdempotencyKeyAlreadyExists": func(r *reader) refusal {
		token := r.card(r.session(nil), plainCard)
		if _, err := r.pay(token, token); err != nil {
			r.t.Fatal(err)
		}
		header := r.headers()
		header["X-Idempotency-Key"] = token
		return refusal{"POST", "/payments", header, map[string]any{"paymentMethodToken": token}}
	},
	"PaymentAttemptNotPending": func(r *reader) refusal {
		attempt, _ := r.attempt()
		r.must(r.t, "POST", "/payment-attempts/"+attempt+"/abort", r.headers(), nil)
		return refusal{"POST", "/payment-attempts/" + attempt + "/approve", r.headers(), nil}
	},
	"AmountChanged": func(r *reader) refusal {
		client := r.session(nil)
		return refusal{"POST", "/checkout/payments", map[string]string{"X-Client-Token": client}, map[string]any{"paymentMethodToken": r.card(client, plainCard), "amount": 2400, "currencyCode": "EUR"}}
	},
	"InvalidPaymentInstrumentToken": func(r *reader) refusal {
		return refusal{"POST", "/payment-instruments/" + exampleToken + "/default", r.headers(), nil}
	},
	"FailedVerification": func(r *reader) refusal {
		return refusal{"POST", "/payment-instruments/" + r.card(r.session(nil), declinedCard) + "/vault", r.headers(), `{"customerId": "customer-7", "verify": true}`}
	},
	"PaymentRequestLimitExceeded": func(r *reader) refusal {
		payment := r.paid("4000000000005159", nil) // every cancellation fails
		for range 100 {
			r.must(r.t, "POST", "/payments/"+payment+"/cancel", r.headers(), nil)
		}
		return refusal{"POST", "/payments/" + payment + "/capture", r.headers(), nil}
	},
	"Unauthorized": func(*reader) refusal { return refusal{"POST", "/payments", nil, "{}"} },
	"MissingScope": func(r *reader) refusal {
		weak := r.field("POST", "/management/api-keys", r.headers(), map[string]any{"name": "weak", "scopes": []string{"transactions:retrieve"}}, "apiKey")
		return refusal{"GET", "/events", map[string]string{"X-API-KEY": weak, "X-API-VERSION": "2.4"}, nil}
	},
	"ApiVersionMissing": func(r *reader) refusal {
		return refusal{"POST", "/payments/" + examplePayment + "/capture", map[string]string{"X-API-KEY": r.key}, nil}
	},
	"ApiVersionNotSupported": func(r *reader) refusal {
		return refusal{"POST", "/payments", map[string]string{"X-API-KEY": r.key, "X-API-VERSION": "2.3"}, "{}"}
	},
	"UnsupportedMediaType": func(r *reader) refusal {
		header := r.headers()
		header["Content-Type"] = "text/plain"
		return refusal{"POST", "/payments", header, "{}"}
	},
	"RequestTooLarge": func(r *reader) refusal {
		return refusal{"POST", "/client-session", r.headers(), map[string]any{"orderId": "order-1001", "currencyCode": "EUR", "order": map[string]any{"lineItems": slices.Repeat([]any{map[string]any{"amount": 1, "description": strings.Repeat("x", 1024)}}, 400)}}}
	},
	"RequestHeadersTooLarge": func(r *reader) refusal {
		header := r.headers()
		header["X-Note"] = strings.Repeat("x", 32<<10)
		return refusal{"GET", "/payments", header, nil}
	},
	"NotFound":         func(r *reader) refusal { return refusal{"GET", "/payment", r.headers(), nil} },
	"MethodNotAllowed": func(r *reader) refusal { return refusal{"DELETE", "/payments", r.headers(), nil} },
}

const wrongSession = `{"orderID": "order-1001", "currencyCode": "EUR", "amount": "25.00"}`

var estimated = map[string]any{"paymentMethod": map[string]any{"authorizationType": "ESTIMATED"}}

// elsewhere are the errorIds whose answers tests of httpapi make, with the reason why this test does not.
var elsewhere = map[string]string{
	"AdjustAuthorizationNonCardPayment": "cards are the one way to pay so far",
	"ConcurrentModification":            "needs a processor that does not answer",
	"NoActionsToHandle":                 "needs a processor that does not answer",
	"ServiceUnavailable":                "needs a broken log",
	"InternalError":                     "needs a fault",
	"RateLimitExceeded":                 "needs a limit",
}

// captured creates a payment and captures it.
func (r *reader) captured() string {
	r.t.Helper()
	payment := r.paid(plainCard, nil)
	r.must(r.t, "POST", "/payments/"+payment+"/capture", r.headers(), nil)
	return payment
}

// shownError returns an error answer without the fields that differ in each answer.
func shownError(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var e struct{ Error map[string]any }
	if err := json.Unmarshal(text, &e); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	delete(e.Error, "diagnosticsId")
	delete(e.Error, "paymentId")
	return e.Error
}

// TestDocsErrors: the service answers each error as the documentation shows it.
func TestDocsErrors(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	r := newReader(t)
	for _, id := range slices.Sorted(maps.Keys(refusals)) {
		q := refusals[id](r)
		got, err := r.call(q.method, q.path, q.header, q.body)
		if err != nil {
			t.Fatal(err)
		}
		shown, err := os.ReadFile("../../httpapi/docs/errors/" + id + ".json")
		if err != nil {
			t.Fatal(err)
		}
		if have, want := shownError(t, got.body), shownError(t, shown); !cmp.Equal(have, want) {
			t.Errorf("%s: %s %s is not answered as the documentation shows: %s", id, q.method, q.path, cmp.Diff(want, have))
		}
	}
	entries, err := os.ReadDir("../../httpapi/docs/errors")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if id := strings.TrimSuffix(e.Name(), ".json"); refusals[id] == nil && elsewhere[id] == "" {
			t.Errorf("no test makes %s", id)
		}
	}
}
