package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore"
	"payledger/eventstore/commands"
)

// call is one request on its way through the guards.
type call struct {
	api      *API
	r        *http.Request
	w        http.ResponseWriter
	ctx      context.Context
	id       string // X-Request-Id, diagnosticsId
	route    route
	vars     map[string]string
	merchant account.State
	actor    string
	body     []byte // validated
	session  domain.SessionID
}

// raw is an answer that is not JSON.
type raw struct {
	contentType string
	body        []byte
}

// answer runs guards and handler and writes what comes of them. It returns the status and the error for
// the log.
func (c *call) answer() (status int, failure error) {
	defer func() {
		if p := recover(); p != nil {
			failure = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			status = c.fail(failure)
		}
	}()
	result, err := c.pass()
	if err != nil {
		return c.fail(err), err
	}
	return http.StatusOK, c.respond(http.StatusOK, result)
}

// pass runs the guards in the order that is part of the contract (D3), then the handler.
func (c *call) pass() (any, error) {
	known := false
	c.route, c.vars, known = c.api.match(c.r)
	if !known {
		c.route = route{access: byAPIKey, versioned: !strings.HasPrefix(c.r.URL.Path, "/management")}
	}
	for _, guard := range []func() error{c.authenticate, c.checkVersion} {
		if err := guard(); err != nil {
			return nil, err
		}
	}
	if !known {
		return nil, c.unknownPath()
	}
	for _, guard := range []func() error{c.checkScope, c.checkQuery, c.readBody} {
		if err := guard(); err != nil {
			return nil, err
		}
	}
	return c.route.handle(c)
}

func (c *call) unknownPath() error {
	if methods := c.api.allowed(c.r); len(methods) > 0 {
		c.w.Header().Set("Allow", strings.Join(methods, ", "))
		return domain.Refuse(domain.KindInvalid, domain.ReasonMethodNotAllowed,
			"The path takes %s.", strings.Join(methods, ", "))
	}
	return domain.Refuse(domain.KindNotFound, domain.ReasonNotFound, "There is nothing at this path.")
}

// caller is who the command is carried out for.
func (c *call) caller() commands.Caller {
	return commands.Caller{Account: c.merchant.ID, Actor: c.actor, RequestID: c.id}
}

// decode reads the validated body.
func decode[T any](c *call) (T, error) {
	var v T
	err := json.Unmarshal(c.body, &v)
	var wrongType *json.UnmarshalTypeError
	if errors.As(err, &wrongType) { // what the schema takes for an integer and Go does not: 1.0, 1e3
		return v, domain.Invalid(c.model(), domain.Violation{Path: "$." + wrongType.Field, Description: "must be an integer, written without fraction or exponent"})
	}
	if err != nil {
		return v, malformed(err)
	}
	return v, nil
}

// model names what the request body is about in validation errors.
func (c *call) model() string { return c.api.schemas.model(c.route.operation) }

// respond writes a JSON answer.
func (c *call) respond(status int, body any) error {
	if r, ok := body.(raw); ok {
		return c.write(status, r.contentType, r.body)
	}
	text, err := json.Marshal(body)
	if err != nil {
		return errors.Join(err, c.write(http.StatusInternalServerError, "application/json", nil))
	}
	return c.write(status, "application/json", text)
}

func (c *call) write(status int, contentType string, body []byte) error {
	h := c.w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	c.w.WriteHeader(status)
	_, err := c.w.Write(body)
	return err
}

// requestID makes the id of a request.
func (a *API) requestID() (string, error) { return eventstore.NewUUID(a.Random) }
