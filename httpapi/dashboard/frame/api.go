package frame

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/httpapi/client"
)

// Identity is a signed-in user, in whose name the API is called.
type Identity struct {
	Merchant  account.State
	User      account.User
	Session   domain.UserSessionID
	RequestID string     // X-Request-Id of the browser's request
	Client    netip.Addr // of the browser
}

// Request is one call of the API.
type Request struct {
	Method, Path   string
	Query          url.Values
	Body           any    // encoded as JSON; nil: no body
	IdempotencyKey string // "" for none (D9)
	Seen           uint64 // revision of the payment that the user saw; an operation on another one is refused. 0: any
}

// Answer is the API's answer.
type Answer struct {
	Status int
	Body   []byte
	Lag    string // of lists that are read from views (D11); "" for none
	// Revision is the payment's, in the answer to reading one; else 0.
	Revision uint64
}

// API answers one call of the API for a signed-in user. It checks the user's role, then the
// request, as for every other caller.
type API func(ctx context.Context, by Identity, r Request) Answer

// Failure is an error answer of the API (D3).
type Failure struct {
	Status int
	ID     string // errorId
	Text   string // description
	Advice string // recoverySuggestion, for people
	Number string // diagnosticsId
	Fields []Fault
	// Payment is the payment that used the idempotency key (D9).
	Payment string
}

// Fault is a violation of one field.
type Fault struct{ Path, Text string }

// Error implements error.
func (f *Failure) Error() string { return fmt.Sprintf("%d %s: %s", f.Status, f.ID, f.Text) }

// decode decodes a successful answer into to (nil: the answer is not needed), or returns a
// *Failure.
func (a Answer) decode(to any) error {
	if a.Status >= http.StatusBadRequest || a.Status == http.StatusAccepted && to == nil && isErrorBody(a.Body) {
		return a.failure()
	}
	if to == nil {
		return nil
	}
	if err := json.Unmarshal(a.Body, to); err != nil {
		return fmt.Errorf("frame: an answer of the API does not decode: %w", err)
	}
	return nil
}

func isErrorBody(body []byte) bool {
	var e struct {
		Error *json.RawMessage `json:"error"`
	}
	return json.Unmarshal(body, &e) == nil && e.Error != nil
}

func (a Answer) failure() error {
	var body struct {
		Error client.Error `json:"error"`
	}
	if err := json.Unmarshal(a.Body, &body); err != nil {
		return fmt.Errorf("frame: an error answer does not decode: %w", err)
	}
	e := body.Error
	f := &Failure{
		Status: a.Status, ID: e.ErrorID, Text: e.Description, Advice: ForPeople(domain.Reason(e.ErrorID), e.RecoverySuggestion), Number: e.DiagnosticsID, Payment: e.PaymentID,
	}
	for _, model := range e.ValidationErrors {
		for _, fault := range model.Errors {
			f.Fields = append(f.Fields, Fault{fault.Path, fault.Description})
		}
	}
	return f
}
