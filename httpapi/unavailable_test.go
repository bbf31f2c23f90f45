package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"payledger/httpapi/passing"
)

// TestUnavailable: what a handler in front of the API refuses is a page where the call has pages,
// and JSON elsewhere, which a page of another origin may read. A form whose outcome is unknown is
// not to be sent again at once.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, c := range []struct {
		method, path, kind, says, origin string
		unknown                          bool
	}{
		{"GET", "/payments", "application/json", `"description":"Nobody.","diagnosticsId":"id-1","recoverySuggestion":"Later."`, "", false},
		{"GET", "/checkout/configuration", "application/json", `"errorId":"ServiceUnavailable"`, "*", false},
		{"GET", "/checkout", "text/html", "Loading it again never pays twice", "", false},
		{"GET", "/dashboard/payments", "text/html", "load it again", "", false},
		{"POST", "/dashboard/payments/x/refund", "text/html", "It is not known whether this was done", "", true},
	} {
		w := httptest.NewRecorder()
		r.api.Unavailable(w, httptest.NewRequest(c.method, c.path, nil), passing.Refusal{ID: "id-1", Description: "Nobody.", Recovery: "Later.", Unknown: c.unknown})
		h := w.Header()
		if w.Code != http.StatusServiceUnavailable || h.Get("Retry-After") == "" || h.Get("X-Request-Id") != "id-1" || !strings.HasPrefix(h.Get("Content-Type"), c.kind) ||
			!strings.Contains(w.Body.String(), c.says) || h.Get("Access-Control-Allow-Origin") != c.origin {
			t.Errorf("%s %s: %d %v\n%s", c.method, c.path, w.Code, h, w.Body)
		}
	}
}
