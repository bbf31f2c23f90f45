package request

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore/commands"
	"payledger/httpapi/clienttoken"
	"payledger/httpapi/validation"
)

// Call is one request after its guards.
type Call struct {
	Ctx       context.Context
	ID        string // X-Request-Id, diagnosticsId
	Header    http.Header
	Query     url.Values
	Vars      map[string]string   // the variable parts of the path
	Model     string              // the name of the body's schema
	Body      validation.Document // validated
	Merchant  account.State
	Key       account.APIKey // of a call by API key
	Actor     string
	Session   domain.SessionID   // of a call by client token
	Action    clienttoken.Action // of a call by an action's client token
	CursorKey []byte             // signs cursors
}

// Caller is who a command is carried out for.
func (c *Call) Caller() commands.Caller {
	return commands.Caller{Account: c.Merchant.ID, Actor: c.Actor, RequestID: c.ID}
}

// BodyRule adds the violations that the schema of a body cannot express.
type BodyRule func(*validation.Violations, *Call)

// QueryRule adds the violations that several query parameters have together.
type QueryRule func(*validation.Violations, *Call)

// Decode reads the validated body. Every value fits its field, so a failure is an internal error.
func Decode[T any](c *Call) (T, error) {
	var v T
	if err := json.Unmarshal(c.Body.Text, &v); err != nil {
		return v, fmt.Errorf("httpapi: a valid body does not decode: %w", err)
	}
	return v, nil
}

// Accepted is an answer with the status 202 (D12).
type Accepted struct{ Answer any }

// Stream is an answer that is written line by line, each a JSON object, while it is made. An error after the first line is
// written as the last one: {"error": …} as in an error body (D3).
type Stream func(line func(any) error) error

// Listing is an answer {"data": […], "nextAfter"?} whose elements are written one by one, as they are read. next is the
// value of nextAfter; 0 leaves it out. An error before the first element is answered as any other error. An error after
// it cuts the connection, so that no client takes a part of the answer for the whole.
type Listing func(element func(any) error) (next uint64, err error)

// Integers makes the numbers of validated metadata int64s (D4).
func Integers(m domain.Metadata) domain.Metadata {
	for key, value := range m {
		if f, ok := value.(float64); ok {
			m[key] = int64(f)
		}
	}
	return m
}
