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

// getHealth: GET /healthz, the process is up (I1).
func getHealth(*call) (any, error) { return map[string]string{"status": "up"}, nil }

// getReadiness: GET /readyz, 200 only when the store takes appends and the views show all of the log.
func getReadiness(c *call) (any, error) {
	if err := c.api.Ready(c.Ctx); err != nil {
		refusal := domain.Refuse(domain.KindUnavailable, domain.ReasonServiceUnavailable, "Not ready: %s.", err)
		refusal.Err = err
		return nil, refusal
	}
	return map[string]string{"status": "ready"}, nil
}

// getOpenAPI: GET /openapi.yaml.
func getOpenAPI(*call) (any, error) {
	return raw{contentType: "application/yaml", body: openapiYAML, shared: true}, nil
}
