package httpapi

import (
	"encoding/json"
	"net/http"
	"payledger/httpapi/request"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// spelled is a body in which one field is spelled otherwise.
type spelled struct {
	path, name string
	body       any
}

// misspellings spells every field of a schema in capitals, at every depth, one field a body.
func misspellings(at string, s *openapi3.Schema, within func(any) any) (found []spelled) {
	for name, field := range s.Properties {
		wrong := strings.ToUpper(name)
		if wrong != name && s.Properties[wrong] == nil {
			found = append(found, spelled{at + "." + wrong, name, within(map[string]any{wrong: "x"})})
		}
		inner := func(v any) any { return within(map[string]any{name: v}) }
		found = append(found, misspellings(at+"."+name, field.Value, inner)...)
	}
	if s.Items != nil {
		found = append(found, misspellings(at+"[0]", s.Items.Value, func(v any) any { return within([]any{v}) })...)
	}
	return found
}

// TestMisspelledFields checks that the violation of an unknown field names the similar known field,
// at every depth of every body (D3).
func TestMisspelledFields(t *testing.T) {
	a, looked, deepest := testAPI(t), 0, 0
	for id, operation := range a.operations {
		if operation.Body == nil || strings.HasPrefix(operation.Path, "/processors/") {
			continue
		}
		for _, c := range misspellings("$", operation.Body, func(v any) any { return v }) {
			body, err := json.Marshal(c.body)
			if err != nil {
				t.Fatal(err)
			}
			want := c.path + " is not a known field; did you mean " + c.name + "?"
			if got := faults(t, a.postCall(id, string(body)).accept()); !slices.Contains(got, want) {
				t.Errorf("%s %s: %q lacks %q", id, body, got, want)
			}
			looked, deepest = looked+1, max(deepest, strings.Count(c.path, "."))
		}
	}
	if looked < 200 || deepest < 4 {
		t.Errorf("only %d fields were looked at, %d deep", looked, deepest)
	}
}

// TestNearPath: paths that people write for others.
func TestNearPath(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ method, path, want string }{
		{"POST", "/client-sessions", "/client-session"},
		{"POST", "/clientSession", "/client-session"},
		{"POST", "/client_session/", "/client-session"},
		{"POST", "/v1/payments", "/payments"},
		{"POST", "/api/v2/payment", "/payments"},
		{"GET", "/payment/01abc", "/payments/{id}"},
		{"POST", "/payments/01abc/refunds", "/payments/{id}/refund"},
		{"POST", "/payments/01abc/captures", "/payments/{id}/capture"},
		{"POST", "/payments/01abc/cancell", "/payments/{id}/cancel"},
		{"POST", "/payments/01abc/adjustAuthorization", "/payments/{id}/adjust-authorization"},
		{"POST", "/paymentInstruments", "/payment-instruments"},
		{"GET", "/payments/01abc/event", "/payments/{id}/events"},
		{"GET", "/api-keys", "/management/api-keys"},
		{"GET", "/management/webhook-endpoint", "/management/webhook-endpoints"},
		{"POST", "/management/workflows/w/enabled", "/management/workflows/{id}/enable"},
		{"GET", "/openapi.yml", "/openapi.yaml"},
		{"GET", "/", ""},
		{"GET", "//", ""},
		{"GET", "/customers", "/management/customers"},
		{"GET", "/refunds", ""},
		{"GET", "/payments/01abc/secrets", ""},
		{"GET", "/payments/01abc/events/2", ""},
	} {
		if got := nearPath(testAPI(t).table, c.path, c.method); got != c.want {
			t.Errorf("%s %s is near %q, want %q", c.method, c.path, got, c.want)
		}
	}
}

// TestNearHeader checks that misspelled headers are recognized, and that other headers are not
// taken for misspelled ones.
func TestNearHeader(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sent, wanted string
		near         bool
	}{
		{"Idempotency-Key", "X-Idempotency-Key", true},
		{"Idempotency-key", "X-Idempotency-Key", true},
		{"X-Idempotence-Key", "X-Idempotency-Key", true},
		{"X-IdempotencyKey", "X-Idempotency-Key", true},
		{"X_Idempotency_Key", "X-Idempotency-Key", true},
		{"Idempotency", "X-Idempotency-Key", true},
		{"X-Idempotency-Keys", "X-Idempotency-Key", true},
		{"X-Idempotency-Key", "X-Idempotency-Key", false},
		{"Idempotent-Replayed", "X-Idempotency-Key", false},
		{"X-Request-Id", "X-Idempotency-Key", false},
		{"X-Client-Token", "X-Idempotency-Key", false},
		{"Api-Key", "X-API-KEY", true},
		{"X-Apikey", "X-API-KEY", true},
		{"Accept", "X-API-KEY", false},
		{"X-Api-Version", "X-API-KEY", false},
		{"Api-Version", "X-API-VERSION", true},
		{"X-Version", "X-API-VERSION", true},
		{"Client-Token", "X-Client-Token", true},
		{"Content-Type", "X-Client-Token", false},
	} {
		h := http.Header{}
		h.Set(c.sent, "1")
		h.Set("User-Agent", "x")
		if got := request.NearHeader(h, c.wanted); (got != "") != c.near {
			t.Errorf("%s for %s: %q", c.sent, c.wanted, got)
		}
	}
}
