package httpapi

import (
	"net/http"
	"strings"
	"time"

	"payledger/domain"
)

// logRequest writes the one line of a request: no body, no header, no query.
func (a *API) logRequest(c *call, o outcome, took time.Duration) {
	event := a.Logger.Info()
	switch {
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

// masked takes the digits out of a text that holds a card number: what went wrong may have one in its hands,
// and none reaches a log (D12).
func masked(text string) string {
	if !domain.HoldsCardNumber(text) {
		return text
	}
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return '#'
		}
		return r
	}, text)
}
