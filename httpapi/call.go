package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/httpapi/checkout"
	"payledger/httpapi/dashboard/frame"
	"payledger/httpapi/docs"
	"payledger/httpapi/intake"
	"payledger/httpapi/proofpage"
	"payledger/httpapi/request"
	"payledger/httpapi/validation"
)

type call struct {
	request.Call
	api       *API
	r         *http.Request
	w         http.ResponseWriter
	recorded  func() bool // reports whether the request recorded an event
	route     route
	found     bool // the path and the method have a route
	headOnly  bool // a HEAD request: the answer has no body
	operation *validation.Operation
	client    netip.Addr      // the address that limits count for
	user      *frame.Identity // the dashboard's user, in whose name the call is made; nil: none
	place     *intake.Place   // in the gate
	reserved  []reservation   // memory
	sent      []byte          // the body of the answer; nil for streams
}

type outcome struct {
	status  int
	failure error // the reason of an error answer
	cut     error // the reason why the answer could not be written: the caller went away
	abort   bool  // the answer is not whole: cut the connection
	open    bool  // the answer stayed open until the caller went away
}

func (c *call) answer() outcome {
	result, err := c.pass()
	switch result.(type) {
	case request.Listing, request.Text: // their work comes now
		defer c.place.Leave()
	default:
		c.place.Leave()
	}
	switch {
	case err != nil && c.route.access == byPage:
		return c.failPage(err)
	case err != nil:
		return c.failed(err)
	}
	status := http.StatusOK
	switch answer := result.(type) {
	case checkout.Document:
		return outcome{status: answer.Status, cut: c.api.pages.Write(c.w, answer)}
	case proofpage.File:
		return outcome{status: http.StatusOK, cut: answer.Write(c.w)}
	case docs.File:
		return outcome{status: answer.Status, cut: answer.Write(c.w, c.r)}
	case options:
		return c.answerOptions(answer)
	case request.Feed:
		if c.headOnly { // it would not end
			c.head(http.StatusOK, "text/event-stream")
			return outcome{status: http.StatusOK}
		}
		if c.user != nil { // no page shows one, and it would not end
			return c.failed(nothingHere())
		}
		return c.feed(answer)
	case request.Stream:
		return c.streamed(func() outcome { return outcome{status: http.StatusOK, cut: c.stream(answer)} })
	case request.Listing:
		return c.streamed(func() outcome { return c.list(answer) })
	case request.Text:
		return c.streamed(func() outcome { return c.text(answer) })
	case request.Accepted:
		status, result = http.StatusAccepted, answer.Answer
	}
	body, err := encode(result)
	if err == nil {
		err = c.holdAnswer(body)
	}
	if err != nil {
		return c.failed(err)
	}
	return outcome{status: status, cut: c.write(status, body)}
}

func (c *call) streamed(write func() outcome) outcome {
	if err := c.reserve(c.api.Intake.Answers, streamSize); err != nil {
		return c.failed(err)
	}
	return write()
}

// recovered turns a panic into an error. It is deferred.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
	}
}

// pass runs the guards in the order that is part of the contract (D3), then the handler. A panic
// becomes an error. The caller must leave the place in the gate.
func (c *call) pass() (result any, err error) {
	defer recovered(&err)
	if c.fromBrowser() {
		return c.api.docs.Get(docs.Home)
	}
	allowed, known := c.find()
	c.allowOrigin()
	if c.r.Method == http.MethodOptions && len(allowed) > 0 {
		return options{allowed}, nil
	}
	for _, guard := range []func() error{c.authenticate, c.checkVersion} {
		if err := guard(); err != nil {
			return nil, err
		}
	}
	if !known {
		return nil, c.unknownPath(allowed)
	}
	allows := c.checkScope
	if c.user != nil {
		allows = c.checkRole
	}
	for _, guard := range []func() error{allows, c.readBody, c.validate} {
		if err := guard(); err != nil {
			return nil, err
		}
	}
	if c.user != nil || strings.HasPrefix(c.route.path, managementPath) {
		c.Origin = clientAddress(c)
	}
	if c.user != nil { // the request of the page that makes this call has a place
		return c.route.handle(c)
	}
	if err := c.enter(); err != nil {
		return nil, err
	}
	if err := c.checkKeyAgain(); err != nil {
		return nil, err
	}
	return c.route.handle(c)
}

// managementPath begins the paths of the management API (D20).
const managementPath = "/management/"

// allowsStale reports whether the caller allows an old answer, and the call has such answers.
func (c *call) allowsStale() bool {
	query := c.r.URL.RawQuery
	if c.r.Method != http.MethodGet || !strings.Contains(query, "consistency") || strings.Count(query, "&") >= validation.MaxParameters ||
		c.r.URL.Query().Get("consistency") != "stale" { // D11
		return false
	}
	r, _, known := c.api.match(c.r, c.r.Method)
	return known && c.api.operations[r.operation].Query["consistency"] != nil
}

// find sets the call's route. allowed are the methods of a known path. doc.go has the guards of an
// unknown route.
func (c *call) find() (allowed []string, known bool) {
	if c.route, c.Vars, known = c.api.match(c.r, c.r.Method); known {
		c.found = true
		c.operation = c.api.operations[c.route.operation]
		if c.allowsStale() {
			c.Ctx = eventstore.Reading(c.Ctx, eventstore.Applied)
		}
		return nil, true
	}
	guarded := route{access: byAPIKey, versioned: !strings.HasPrefix(c.r.URL.Path+"/", managementPath)}
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		if other, _, ok := c.api.match(c.r, method); ok {
			guarded, allowed = other, append(allowed, method)
			if method == http.MethodGet {
				allowed = append(allowed, http.MethodHead)
			}
		}
	}
	c.route = guarded
	return allowed, false
}

func (c *call) unknownPath(allowed []string) error {
	if len(allowed) == 0 {
		return nothingHere()
	}
	methods := strings.Join(allowed, ", ")
	c.w.Header().Set("Allow", methods)
	return domain.Refuse(domain.KindInvalid, domain.ReasonMethodNotAllowed, "The path takes %s.", methods)
}

func nothingHere() error {
	return domain.Refuse(domain.KindNotFound, domain.ReasonNotFound, "There is nothing at this path.")
}

type raw struct {
	contentType string
	body        []byte
	shared      bool // with all requests: no memory is reserved for it
}

func encode(result any) (raw, error) {
	switch r := result.(type) {
	case raw:
		return r, nil
	case json.RawMessage: // valid JSON that a handler encoded
		return raw{contentType: "application/json", body: r}, nil
	}
	text, err := json.Marshal(result)
	if err != nil {
		return raw{}, fmt.Errorf("httpapi: an answer does not encode: %w", err)
	}
	return raw{contentType: "application/json", body: text}, nil
}

func (c *call) write(status int, answer raw) error {
	c.head(status, answer.contentType)
	c.sent = answer.body
	_, err := c.w.Write(answer.body)
	return err
}

func (c *call) head(status int, contentType string) {
	h := c.w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	c.w.WriteHeader(status)
}
