package httpapi

import (
	"io"
	"net/http"
	"strconv"

	"payledger/domain"
	"payledger/eventstore"
)

// Starting answers requests while the service starts: /healthz as ever, and everything else with 503 and how far the start
// is (I1). random makes request ids.
func Starting(random io.Reader, progress func() string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		id, _ := eventstore.NewUUID(random) // without one the answer is still true
		w.Header().Set("X-Request-Id", id)
		if r.URL.Path == "/healthz" && r.Method == http.MethodGet {
			if health, err := encode(map[string]string{"status": "up"}); err == nil {
				_, _ = w.Write(health.body) // the client may be gone
			}
			return
		}
		body, err := encode(errorBody{errorDetail{
			ErrorID: domain.ReasonServiceUnavailable, Description: "Not ready: " + progress() + ".", DiagnosticsID: id,
			RecoverySuggestion: suggestions[domain.ReasonServiceUnavailable],
		}})
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write(body.body) // the client may be gone
	})
}
