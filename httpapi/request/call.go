package request

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore/commands"
	"payledger/httpapi/clienttoken"
	"payledger/httpapi/validation"
	"payledger/projections/listing"
)

// Call is one request after its guards.
type Call struct {
	Ctx          context.Context
	ID           string // X-Request-Id, diagnosticsId
	Header       http.Header
	Query        url.Values
	Vars         map[string]string   // the variable parts of the path
	Model        string              // the name of the body's schema
	Body         validation.Document // validated
	Merchant     account.State
	Key          account.APIKey // of a call by API key
	Actor        string
	Origin       string               // the client's address, of a call under /management only (D20)
	Session      domain.SessionID     // of a call by client token
	UserSession  domain.UserSessionID // of a call of a dashboard user
	Action       clienttoken.Action   // of a call by an action's client token
	CursorKey    []byte               // signs cursors
	From         *listing.Place       // of a list with Cursors: where the page begins; nil: at its start
	AnswerHeader http.Header          // of the answer
	Seen         uint64               // revision of the payment that a form of the dashboard showed; 0: any
	Revision     uint64               // of the payment in the answer of GetPayment
}

// Caller returns the origin of the call's commands.
func (c *Call) Caller() commands.Caller {
	return commands.Caller{Account: c.Merchant.ID, Actor: c.Actor, RequestID: c.ID, Origin: c.Origin, Seen: c.Seen, UserSession: c.UserSession}
}

// Rule adds violations that openapi.yaml cannot express. It checks the body; in a call without a
// body, it checks the query.
type Rule func(*validation.Violations, *Call)

// PeriodRule adds a violation if the body's date from is after its date to (D1, D20).
func PeriodRule(v *validation.Violations, c *Call) {
	v.Range(v.Date(c.Body.Tree, "from"), v.Date(c.Body.Tree, "to"))
}

// WithBody returns a handler that decodes the body and calls handle. A validated body fits T, so a
// failure is an internal error.
func WithBody[T any](handle func(*Call, T) (any, error)) func(*Call) (any, error) {
	return func(c *Call) (any, error) {
		var body T
		if err := json.Unmarshal(c.Body.Text, &body); err != nil {
			return nil, fmt.Errorf("httpapi: a valid body does not decode: %w", err)
		}
		return handle(c, body)
	}
}

// Date is a date in a body. A date without an offset is in UTC (D1).
type Date struct{ time.Time }

// UnmarshalJSON parses a date with validation.ParseTime.
func (d *Date) UnmarshalJSON(text []byte) (err error) {
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	d.Time, err = validation.ParseTime(s)
	return err
}

// Pointer returns the time, nil if the body has no date.
func (d *Date) Pointer() *time.Time {
	if d == nil {
		return nil
	}
	return &d.Time
}

// Accepted is an answer with the status 202 (D12).
type Accepted struct{ Answer any }

// Stream produces an answer line by line. Each line is a JSON object. After an error the last line
// is an error body (D3).
type Stream func(line func(any) error) error

// Listing produces an answer {"data": […], "nextAfter"?} element by element. next is the value of
// nextAfter; 0 omits the field. An error after the first element closes the connection, so that no
// client takes a part of the answer for the whole.
type Listing func(element func(any) error) (next uint64, err error)

// Written is an element of a Listing that is JSON already.
type Written []byte

// Append implements the encoding of elements.
func (w Written) Append(b []byte, _ bool) ([]byte, error) { return append(b, w...), nil }

// Text produces an answer of JSON piece by piece. An error after the first piece closes the
// connection, as in a Listing.
type Text func(to io.Writer) error

// Integers converts the numbers of validated metadata to int64 (D4).
func Integers(m domain.Metadata) domain.Metadata {
	for key, value := range m {
		if f, ok := value.(float64); ok {
			m[key] = int64(f)
		}
	}
	return m
}
