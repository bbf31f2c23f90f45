package request

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

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

// Rule adds the violations that openapi.yaml cannot express: of the body, or without a body of the query parameters together.
type Rule func(*validation.Violations, *Call)

// PeriodRule is the rule of a body with the dates from and to (D1, D20).
func PeriodRule(v *validation.Violations, c *Call) {
	v.Range(v.Date(c.Body.Tree, "from"), v.Date(c.Body.Tree, "to"))
}

// WithBody makes a handler of one that takes the decoded body. A validated body fits T, so a failure is an internal error.
func WithBody[T any](handle func(*Call, T) (any, error)) func(*Call) (any, error) {
	return func(c *Call) (any, error) {
		var body T
		if err := json.Unmarshal(c.Body.Text, &body); err != nil {
			return nil, fmt.Errorf("httpapi: a valid body does not decode: %w", err)
		}
		return handle(c, body)
	}
}

// Date is a date in a body, with any offset, or without one as UTC (D1).
type Date struct{ time.Time }

// UnmarshalJSON reads a date as the validation does.
func (d *Date) UnmarshalJSON(text []byte) (err error) {
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	d.Time, err = validation.ParseTime(s)
	return err
}

// Pointer returns the time, nil for a date that was not sent.
func (d *Date) Pointer() *time.Time {
	if d == nil {
		return nil
	}
	return &d.Time
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
