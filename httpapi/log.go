package httpapi

import (
	"errors"
	"maps"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode"

	"payledger/domain"
	"payledger/httpapi/live"
	"payledger/projections/paymentjson"
)

// statusGone is the logged and counted status of a request whose caller went away before the
// answer. It is never sent.
const statusGone = 499

// noteRequest counts a request, keeps it for GET /management/request-log, and hands it to the
// account's readers of its stream. Pages are neither counted nor kept, and streams that stay open
// are not counted.
func (a *API) noteRequest(c *call, o outcome, came time.Time, took time.Duration) {
	if c.Merchant.ID == "" {
		return
	}
	var bodies func() (any, []byte)
	if c.route.access != byPage {
		bodies = c.bodies
		if !o.open {
			a.traffic.Add(c.Merchant.ID, o.status, came.Add(took), took)
		}
	}
	a.requests.Add(c.Merchant.ID, o.status, came, func() live.Request {
		r := live.Request{
			Time: paymentjson.Time{Time: came}, Method: c.r.Method, Path: c.publicPath(), Status: o.status, TookMs: live.TookMs(took),
			RequestID: c.ID, KeyName: c.Key.Name,
		}
		if r.Caller, _, _ = strings.Cut(c.Actor, ":"); r.Caller == "" {
			r.Caller = "client_token" // of a required action
		}
		if o.failure != nil && o.status != statusGone {
			r.ErrorID = string(reasonOf(o.failure))
		}
		return r
	}, bodies)
}

// bodies returns the body of the request, nil if there is none that was read, and that of the
// answer.
func (c *call) bodies() (sent any, answer []byte) {
	if c.Body.Tree != nil {
		sent = c.Body.Tree
	}
	return sent, c.sent
}

// traceParent is the header of W3C's Trace Context.
var traceParent = regexp.MustCompile(`^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}`)

// timeRequest hands the duration of a request to Timed.
func (a *API) timeRequest(c *call, status int, took time.Duration) {
	if a.Timed == nil {
		return
	}
	route, trace := "", c.ID
	if c.found && c.route.path != "" {
		route = c.route.method + " " + c.route.path
	}
	if parent := traceParent.FindStringSubmatch(c.r.Header.Get("traceparent")); parent != nil {
		trace = parent[1]
	}
	a.Timed(route, status, took, trace)
}

// publicPath returns a request's path with ids of ours only. Other values, as a customer's id and a
// token, may be personal or secret.
func (c *call) publicPath() string {
	if c.route.path == "" || !c.found {
		return shownPath(c.r.URL.Path)
	}
	return pathVariable.ReplaceAllStringFunc(c.route.path, func(name string) string {
		if value := c.Vars[name[1:len(name)-1]]; (name == "{id}" || name == "{name}") && ownID.MatchString(value) {
			return value
		}
		return "…"
	})
}

var (
	pathVariable = regexp.MustCompile(`\{[^}]*\}`)
	// ownID matches the ids that the service makes, and the names of processors.
	ownID = regexp.MustCompile(`^([0-9a-z]{20,40}|[0-9A-Za-z]{16}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[A-Z]{4,12})$`)
)

// logRequest writes the one line of a request: no body, no header, no query; the path only for a
// 404, masked.
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
	event = event.Str("requestId", c.ID).Str("method", c.r.Method).Str("route", c.route.path).
		Int("status", o.status).Dur("took", took).Str("client", clientAddress(c))
	if o.status == http.StatusNotFound {
		event = event.Str("path", shownPath(c.r.URL.Path))
	}
	if c.Merchant.ID != "" {
		event = event.Str("account", string(c.Merchant.ID))
	}
	if c.Actor != "" {
		event = event.Str("actor", c.Actor)
	}
	if o.failure != nil && o.status != statusGone {
		event = event.Str("errorId", string(reasonOf(o.failure)))
		if o.status >= http.StatusInternalServerError {
			event = event.Str("error", masked(o.failure.Error()))
		}
	}
	if o.status == statusGone {
		event.Msg("caller went away")
		return
	}
	event.AnErr("cut", o.cut).Msg("request")
}

// clientAddress returns the client's address without port: behind a trusted proxy the address that
// limits count for, else the peer's.
func clientAddress(c *call) string {
	if c.client.IsValid() {
		return c.client.String()
	}
	host, _, err := net.SplitHostPort(c.r.RemoteAddr)
	if err != nil {
		return c.r.RemoteAddr
	}
	return host
}

const (
	shownSegments = 8
	shownSegment  = 24 // bytes; "adjust-authorization" has 20
	shownCapitals = 3  // "paymentInstruments" has 1
)

// shownPath returns a path whose segments are hidden unless they are words: a segment may be an id,
// a secret or a card number.
func shownPath(path string) string {
	segments := strings.Split(path, "/")
	if len(segments) > shownSegments {
		segments = append(segments[:shownSegments:shownSegments], "…")
	}
	for i, segment := range segments {
		if !wordLike(segment) {
			segments[i] = "…"
		}
	}
	return strings.Join(segments, "/")
}

// wordLike reports whether a segment is a word or two, with at most two digits: payments,
// client-session, v1, openapi.yaml.
func wordLike(segment string) bool {
	digits, capitals := 0, 0
	for _, r := range segment {
		switch {
		case r >= '0' && r <= '9':
			digits++
		case r >= 'A' && r <= 'Z':
			capitals++
		case r >= 'a' && r <= 'z', r == '-', r == '_', r == '.':
		default:
			return false
		}
	}
	return len(segment) <= shownSegment && digits <= 2 && capitals <= shownCapitals
}

// masked replaces the digits of an error text that holds a card number: none reaches a log (D12).
func masked(text string) string {
	if !domain.MayHoldCardNumber(text) {
		return text
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return '#'
		}
		return r
	}, text)
}

type answers struct {
	mu    sync.Mutex
	count map[int]uint64
}

func (a *answers) add(status int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.count[status]++
}

// Answers returns the number of requests by status since the start. 499 counts requests whose
// caller went away before the answer.
func (a *API) Answers() map[int]uint64 {
	a.answered.mu.Lock()
	defer a.answered.mu.Unlock()
	return maps.Clone(a.answered.count)
}
