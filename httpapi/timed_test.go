package httpapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"payledger/httpapi"
)

// TestTimed checks that each request is counted with its route and status, and with the trace id of
// the caller or of the answer.
func TestTimed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var timed []string
	config := r.config
	config.Timed = func(route string, status int, took time.Duration, trace string) {
		timed = append(timed, fmt.Sprint(route, " ", status, " ", took >= 0, " ", trace))
	}
	api, err := httpapi.New(config)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, c := range []struct{ path, parent, route string }{
		{"/healthz", "", "GET /healthz"}, {"/nowhere/at/all", "", ""}, {"/payments/01abc", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "GET /payments/{id}"},
		{"/payments", "00-" + "no trace", "GET /payments"},
	} {
		request := httptest.NewRequest(http.MethodGet, c.path, nil)
		request.Header.Set("traceparent", c.parent)
		w := httptest.NewRecorder()
		api.ServeHTTP(w, request)
		trace := w.Header().Get("X-Request-Id")
		if len(c.parent) > 20 {
			trace = c.parent[3:35]
		}
		want = append(want, fmt.Sprint(c.route, " ", w.Code, " true ", trace))
	}
	if !slices.Equal(timed, want) {
		t.Errorf("%q, expected %q", timed, want)
	}
}
