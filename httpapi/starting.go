package httpapi

import (
	"io"
	"net/http"
	"strconv"

	"payledger/domain"
	"payledger/eventstore"
)

// Starting answers requests while the service starts: /healthz as always, other requests with 503 and the progress (I1).
func Starting(random io.Reader, progress func() string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == pathHealth && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
			head(w, random)
			if health, err := encode(map[string]string{"status": "up"}); err == nil {
				_, _ = w.Write(health.body) // the client may be gone
			}
			return
		}
		refuseBare(w, random, errorDetail{
			ErrorID: domain.ReasonServiceUnavailable, Description: "Not ready: " + progress() + ".",
			RecoverySuggestion: errorTable[domain.ReasonServiceUnavailable].suggestion,
		})
	})
}

func head(w http.ResponseWriter, random io.Reader) (id string) {
	w.Header().Set("Content-Type", "application/json")
	id, _ = eventstore.NewUUID(random) // the answer is correct without an id
	w.Header().Set("X-Request-Id", id)
	return id
}

func refuseBare(w http.ResponseWriter, random io.Reader, detail errorDetail) {
	detail.DiagnosticsID = head(w, random)
	writeRefusal(w, detail)
}

// Unavailable answers a request with the id, with 503 ServiceUnavailable and Retry-After: for a handler in front of the API.
func Unavailable(w http.ResponseWriter, id, description, recovery string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Request-Id", id)
	writeRefusal(w, errorDetail{ErrorID: domain.ReasonServiceUnavailable, Description: description, RecoverySuggestion: recovery, DiagnosticsID: id})
}

func writeRefusal(w http.ResponseWriter, detail errorDetail) {
	body, err := encode(errorBody{detail})
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
	w.WriteHeader(errorTable[detail.ErrorID].status)
	_, _ = w.Write(body.body) // the client may be gone
}

// getHealth serves GET /healthz: the process is up (I1).
func getHealth(*call) (any, error) { return map[string]string{"status": "up"}, nil }

// getReadiness serves GET /readyz: 200 only when the store takes appends and the views show all of the log.
func getReadiness(c *call) (any, error) {
	if err := c.api.Ready(c.Ctx); err != nil {
		refusal := domain.Refuse(domain.KindUnavailable, domain.ReasonServiceUnavailable, "Not ready: %s.", err)
		refusal.Err = err
		return nil, refusal
	}
	return map[string]string{"status": "ready"}, nil
}
