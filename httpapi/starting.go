package httpapi

import (
	"io"
	"net/http"
	"strconv"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/httpapi/checkout"
	"payledger/httpapi/passing"
)

// Starting answers requests while the service starts: /healthz as always, other requests with 503
// and the progress (I1).
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

// Unavailable answers a request for a handler in front of the API, with 503 ServiceUnavailable and
// Retry-After: a page if the call has pages.
func (a *API) Unavailable(w http.ResponseWriter, r *http.Request, why passing.Refusal) {
	w.Header().Set("X-Request-Id", why.ID)
	c := &call{api: a, r: r, w: w}
	if c.forPage() {
		c.unavailablePage(why)
		return
	}
	c.find()
	c.allowOrigin() // a page must be able to read why
	w.Header().Set("Content-Type", "application/json")
	writeRefusal(w, errorDetail{
		ErrorID: domain.ReasonServiceUnavailable, Description: why.Description, RecoverySuggestion: why.Recovery, DiagnosticsID: why.ID,
	})
}

func (c *call) unavailablePage(why passing.Refusal) {
	c.w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
	notice := checkout.Broken
	if why.Unknown {
		notice = checkout.Unknown
	}
	page, err := c.api.pages.Notice(c.locale(), http.StatusServiceUnavailable, notice)
	if err != nil {
		c.api.Logger.Error().Err(err).Str("requestId", why.ID).Msg("a page cannot be made")
		c.w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	_ = c.api.pages.Write(c.w, page) // the client may be gone
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

// getReadiness serves GET /readyz: 200 only when the store takes appends and the views show all of
// the log.
func getReadiness(c *call) (any, error) {
	if err := c.api.Ready(c.Ctx); err != nil {
		refusal := domain.Refuse(domain.KindUnavailable, domain.ReasonServiceUnavailable, "Not ready: %s.", err)
		refusal.Err = err
		return nil, refusal
	}
	return map[string]string{"status": "ready"}, nil
}
