package servicetest

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"payledger/cmd/payledger/apptest"
	"payledger/eventstore/eventstoretest"
)

// refusal is a request that gets an errorId.
type refusal struct {
	method, path string
	header       map[string]string
	body         any
}

// refusals make the error answers that the documentation shows, by errorId.
var refusals = map[string]func(*apptest.Reader) refusal{
	"MalformedJson":          func(r *apptest.Reader) refusal { return refusal{"POST", "/client-session", r.Headers(), " "} },
	"RequestValidationError": func(r *apptest.Reader) refusal { return refusal{"POST", "/client-session", r.Headers(), wrongSession} },
	"ClientSessionValidationError": func(r *apptest.Reader) refusal {
		return refusal{"POST", "/client-session", r.Headers(), `{"orderId": "order-1001", "amount": 2500}`}
	},
	"MetadataContainsEmptyKey": func(r *apptest.Reader) refusal {
		return refusal{"POST", "/payments", r.Headers(), map[string]any{"paymentMethodToken": r.Card(r.Session(nil), apptest.PlainCard), "metadata": map[string]any{"": "x"}}}
	},
	"PaymentError": func(r *apptest.Reader) refusal {
		return refusal{"GET", "/payments/" + apptest.ExamplePayment, r.Headers(), nil}
	},
	"EntityNotFound": func(r *apptest.Reader) refusal {
		return refusal{"GET", "/management/disputes/" + apptest.ExampleDispute, r.Headers(), nil}
	},
	"InvalidPaymentStatus": func(r *apptest.Reader) refusal {
		return refusal{"POST", "/payments/" + r.Captured() + "/cancel", r.Headers(), nil}
	},
	"IncorrectPaymentAuthorizationType": func(r *apptest.Reader) refusal {
		return refusal{"POST", "/payments/" + r.Paid(apptest.PlainCard, nil) + "/adjust-authorization", r.Headers(), `{"amount": 3000}`}
	},
	"PaymentIsNotAuthorizedYet": func(r *apptest.Reader) refusal {
		return refusal{"POST", "/payments/" + r.Paid("4916994064252017", estimated) + "/adjust-authorization", r.Headers(), `{"amount": 3000}`}
	},
	"AdjustAuthorizationNotSupported": func(r *apptest.Reader) refusal {
		return refusal{"POST", "/payments/" + r.Paid(apptest.PlainCard, map[string]any{"amount": 0, "paymentMethod": estimated["paymentMethod"]}) + "/adjust-authorization", r.Headers(), `{"amount": 3000}`}
	},
	"PaymentAlreadyRefunded": func(r *apptest.Reader) refusal {
		payment := r.Captured()
		r.Must(r.T, "POST", "/payments/"+payment+"/refund", r.Headers(), nil)
		return refusal{"POST", "/payments/" + payment + "/refund", r.Headers(), nil}
	},
	"UnprocessableRefundAmount": func(r *apptest.Reader) refusal {
		payment := r.Captured()
		r.Must(r.T, "POST", "/payments/"+payment+"/refund", r.Headers(), `{"amount": 80}`)
		return refusal{"POST", "/payments/" + payment + "/refund", r.Headers(), `{"amount": 99999}`}
	},
	"IdempotencyKeyAlreadyExists": func(r *apptest.Reader) refusal {
		token := r.Card(r.Session(nil), apptest.PlainCard)
		if _, err := r.Pay(token, token); err != nil {
			r.T.Fatal(err)
		}
		header := r.Headers()
		header["X-Idempotency-Key"] = token
		return refusal{"POST", "/payments", header, map[string]any{"paymentMethodToken": token}}
	},
	"PaymentAttemptNotPending": func(r *apptest.Reader) refusal {
		attempt, _ := r.Attempt()
		r.Must(r.T, "POST", "/payment-attempts/"+attempt+"/abort", r.Headers(), nil)
		return refusal{"POST", "/payment-attempts/" + attempt + "/approve", r.Headers(), nil}
	},
	"AmountChanged": func(r *apptest.Reader) refusal {
		client := r.Session(nil)
		return refusal{"POST", "/checkout/payments", map[string]string{"X-Client-Token": client}, map[string]any{"paymentMethodToken": r.Card(client, apptest.PlainCard), "amount": 2400, "currencyCode": "EUR"}}
	},
	"InvalidPaymentInstrumentToken": func(r *apptest.Reader) refusal {
		return refusal{"POST", "/payment-instruments/" + apptest.ExampleToken + "/default", r.Headers(), nil}
	},
	"FailedVerification": func(r *apptest.Reader) refusal {
		return refusal{"POST", "/payment-instruments/" + r.Card(r.Session(nil), apptest.DeclinedCard) + "/vault", r.Headers(), `{"customerId": "customer-7", "verify": true}`}
	},
	"PaymentRequestLimitExceeded": func(r *apptest.Reader) refusal {
		payment := r.Paid("4000000000005159", nil) // every cancellation fails
		for range 100 {
			r.Must(r.T, "POST", "/payments/"+payment+"/cancel", r.Headers(), nil)
		}
		return refusal{"POST", "/payments/" + payment + "/cancel", r.Headers(), nil}
	},
	"Unauthorized": func(*apptest.Reader) refusal { return refusal{"POST", "/payments", nil, "{}"} },
	"MissingScope": func(r *apptest.Reader) refusal {
		weak := r.Field("POST", "/management/api-keys", r.Headers(), map[string]any{"name": "weak", "scopes": []string{"transactions:retrieve"}}, "apiKey")
		return refusal{"GET", "/events", map[string]string{"X-API-KEY": weak, "X-API-VERSION": "2.4"}, nil}
	},
	"ApiVersionMissing": func(r *apptest.Reader) refusal {
		return refusal{"POST", "/payments/" + apptest.ExamplePayment + "/capture", map[string]string{"X-API-KEY": r.Key}, nil}
	},
	"ApiVersionNotSupported": func(r *apptest.Reader) refusal {
		return refusal{"POST", "/payments", map[string]string{"X-API-KEY": r.Key, "X-API-VERSION": "2.3"}, "{}"}
	},
	"UnsupportedMediaType": func(r *apptest.Reader) refusal {
		header := r.Headers()
		header["Content-Type"] = "text/plain"
		return refusal{"POST", "/payments", header, "{}"}
	},
	"RequestTooLarge": func(r *apptest.Reader) refusal {
		return refusal{"POST", "/client-session", r.Headers(), map[string]any{"orderId": "order-1001", "currencyCode": "EUR", "order": map[string]any{"lineItems": slices.Repeat([]any{map[string]any{"amount": 1, "description": strings.Repeat("x", 1024)}}, 400)}}}
	},
	"RequestHeadersTooLarge": func(r *apptest.Reader) refusal {
		header := r.Headers()
		header["X-Note"] = strings.Repeat("x", 32<<10)
		return refusal{"GET", "/payments", header, nil}
	},
	"NotFound":         func(r *apptest.Reader) refusal { return refusal{"GET", "/payment", r.Headers(), nil} },
	"MethodNotAllowed": func(r *apptest.Reader) refusal { return refusal{"DELETE", "/payments", r.Headers(), nil} },
}

const wrongSession = `{"orderID": "order-1001", "currencyCode": "EUR", "amount": "25.00"}`

var estimated = map[string]any{"paymentMethod": map[string]any{"authorizationType": "ESTIMATED"}}

// elsewhere are the errorIds whose answers tests of httpapi make, with the reason why this test
// does not.
var elsewhere = map[string]string{
	"AdjustAuthorizationNonCardPayment": "cards are the one way to pay so far",
	"ConcurrentModification":            "needs a processor that does not answer",
	"NoActionsToHandle":                 "needs a processor that does not answer",
	"ServiceUnavailable":                "needs a broken log",
	"InternalError":                     "needs a fault",
	"RateLimitExceeded":                 "needs a limit",
}

var timeOfDay = regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+Z`)

// shownError returns an error answer without the fields and times that differ in each answer.
func shownError(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var e struct{ Error map[string]any }
	if err := json.Unmarshal(text, &e); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	e.Error["description"] = timeOfDay.ReplaceAllString(e.Error["description"].(string), "TIME")
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
	r := apptest.NewReader(t)
	for _, id := range slices.Sorted(maps.Keys(refusals)) {
		q := refusals[id](r)
		got, err := r.Call(q.method, q.path, q.header, q.body)
		if err != nil {
			t.Fatal(err)
		}
		shown, err := os.ReadFile("../../../httpapi/docs/errors/" + id + ".json")
		if err != nil {
			t.Fatal(err)
		}
		if have, want := shownError(t, got.Body), shownError(t, shown); !cmp.Equal(have, want) {
			t.Errorf("%s: %s %s is not answered as the documentation shows: %s", id, q.method, q.path, cmp.Diff(want, have))
		}
	}
	entries, err := os.ReadDir("../../../httpapi/docs/errors")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if id := strings.TrimSuffix(e.Name(), ".json"); refusals[id] == nil && elsewhere[id] == "" {
			t.Errorf("no test makes %s", id)
		}
	}
}
