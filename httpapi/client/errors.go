package client

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The errorIds that callers tell apart (D3).
const (
	IdempotencyKeyAlreadyExists = "IdempotencyKeyAlreadyExists"
	EntityNotFound              = "EntityNotFound"
	MissingScope                = "MissingScope"
	Unauthorized                = "Unauthorized"
)

// Error is an error answer of the API (D3).
type Error struct {
	Status             int          `json:"-"` // of HTTP
	ErrorID            string       `json:"errorId"`
	Description        string       `json:"description"`
	DiagnosticsID      string       `json:"diagnosticsId"` // the id of the request, X-Request-Id
	RecoverySuggestion string       `json:"recoverySuggestion"`
	ValidationErrors   []Validation `json:"validationErrors"`
	Truncated          bool         `json:"truncated"` // there are more violations
	PaymentID          string       `json:"paymentId"`
	PaymentStatus      string       `json:"paymentStatus"`

	RetryAfter time.Duration `json:"-"` // 0: the answer does not say
}

// Validation has the violations of one part of a request.
type Validation struct {
	Model  string `json:"model"`
	Errors []struct {
		Path        string `json:"path"`
		Description string `json:"description"`
	} `json:"errors"`
}

// Error returns one line with the error, and every violation or the recovery suggestion.
func (e *Error) Error() string {
	parts := []string{e.ErrorID + ": " + e.Description}
	for _, group := range e.ValidationErrors {
		for _, v := range group.Errors {
			parts = append(parts, strings.TrimSpace(group.Model+" "+v.Path+" "+v.Description+"."))
		}
	}
	if e.Truncated {
		parts = append(parts, "There are more violations.")
	}
	if e.RecoverySuggestion != "" && len(e.ValidationErrors) == 0 { // else it names a field of the answer, which is printed here
		parts = append(parts, e.RecoverySuggestion)
	}
	return strings.Join(parts, " ")
}

const errorLimit = 1 << 20

// ReadError returns the error of an answer that is not 2xx. Its body need not be the API's: a proxy
// may have answered.
func ReadError(answer *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(answer.Body, errorLimit))
	if err != nil {
		return fmt.Errorf("the server's answer %d broke off: %w", answer.StatusCode, err)
	}
	var decoded struct {
		Error *Error `json:"error"`
	}
	if err := json.Unmarshal(body, &decoded); err != nil || decoded.Error == nil || decoded.Error.ErrorID == "" {
		decoded.Error = &Error{ErrorID: "HTTP " + strconv.Itoa(answer.StatusCode), Description: "the answer is not one of the API; is the URL right?"}
	}
	decoded.Error.Status = answer.StatusCode
	if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil && seconds >= 0 {
		decoded.Error.RetryAfter = time.Duration(seconds) * time.Second
	}
	return decoded.Error
}
