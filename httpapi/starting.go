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
		if r.URL.Path == pathHealth && r.Method == http.MethodGet {
			head(w, random)
			if health, err := encode(map[string]string{"status": "up"}); err == nil {
				_, _ = w.Write(health.body) // the client may be gone
			}
			return
		}
		refuseBare(w, random, errorDetail{
			ErrorID: domain.ReasonServiceUnavailable, Description: "Not ready: " + progress() + ".",
			RecoverySuggestion: suggestions[domain.ReasonServiceUnavailable],
		})
	})
}

// head sets the headers of an answer that is made without the API, and returns the request's id.
func head(w http.ResponseWriter, random io.Reader) (id string) {
	w.Header().Set("Content-Type", "application/json")
	id, _ = eventstore.NewUUID(random) // without one the answer is still true
	w.Header().Set("X-Request-Id", id)
	return id
}

// refuseBare answers an error without the API: the request may be repeated later.
func refuseBare(w http.ResponseWriter, random io.Reader, detail errorDetail) {
	detail.DiagnosticsID = head(w, random)
	body, err := encode(errorBody{detail})
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
	w.WriteHeader(statuses[detail.ErrorID])
	_, _ = w.Write(body.body) // the client may be gone
}
