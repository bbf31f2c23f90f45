package httpapi

import (
	"net/http"
	"time"

	"payledger/domain"
)

// logRequest writes the one line of a request: no body, no header, no query.
func (a *API) logRequest(c *call, status int, failure error, took time.Duration) {
	event := a.Logger.Info()
	switch {
	case status >= http.StatusInternalServerError:
		event = a.Logger.Error()
	case c.route.access == byNothing:
		event = a.Logger.Debug()
	}
	event = event.Str("requestId", c.id).Str("method", c.r.Method).Str("route", c.route.path).
		Int("status", status).Dur("took", took)
	if c.merchant.ID != "" {
		event = event.Str("account", string(c.merchant.ID)).Str("actor", c.actor)
	}
	if failure != nil {
		event = event.Str("errorId", string(domain.ReasonOf(failure)))
		if status >= http.StatusInternalServerError {
			event = event.Err(failure)
		}
	}
	event.Msg("request")
}
