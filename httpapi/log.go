package httpapi

import (
	"errors"
	"net/http"
	"time"
)

// logRequest writes the one line of a request: no body, no header, no query.
func (a *API) logRequest(c *call, o outcome, took time.Duration) {
	event := a.Logger.Info()
	switch {
	case errors.Is(o.failure, errOverloaded): // counted: a line for each would add to the load
		event = a.Logger.Debug()
	case o.status >= http.StatusInternalServerError:
		event = a.Logger.Error()
	case c.route.access == byNothing || c.route.access == byPage:
		event = a.Logger.Debug()
	}
	event = event.Str("requestId", c.id).Str("method", c.r.Method).Str("route", c.route.path).
		Int("status", o.status).Dur("took", took)
	if c.merchant.ID != "" {
		event = event.Str("account", string(c.merchant.ID))
	}
	if c.actor != "" {
		event = event.Str("actor", c.actor)
	}
	if o.failure != nil {
		event = event.Str("errorId", string(reasonOf(o.failure)))
		if o.status >= http.StatusInternalServerError {
			event = event.Str("error", masked(o.failure.Error()))
		}
	}
	event.AnErr("cut", o.cut).Msg("request")
}
