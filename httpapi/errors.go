package httpapi

import (
	"errors"
	"net/http"
	"strconv"

	"payledger/domain"
)

// statuses is the one table from errorId to HTTP status (D3).
var statuses = map[domain.Reason]int{
	domain.ReasonMalformedJSON:          http.StatusBadRequest,
	domain.ReasonRequestValidation:      http.StatusUnprocessableEntity,
	domain.ReasonSessionValidation:      http.StatusBadRequest,
	domain.ReasonMetadataEmptyKey:       http.StatusBadRequest,
	domain.ReasonPayment:                http.StatusBadRequest,
	domain.ReasonEntityNotFound:         http.StatusNotFound,
	domain.ReasonInvalidPaymentStatus:   http.StatusBadRequest,
	domain.ReasonIdempotencyKeyExists:   http.StatusConflict,
	domain.ReasonConcurrentModification: http.StatusConflict,
	domain.ReasonServiceUnavailable:     http.StatusServiceUnavailable,
	domain.ReasonUnauthorized:           http.StatusUnauthorized,
	domain.ReasonMissingScope:           http.StatusForbidden,
	domain.ReasonAPIVersionMissing:      http.StatusBadRequest,
	domain.ReasonAPIVersionNotSupported: http.StatusBadRequest,
	domain.ReasonUnsupportedMediaType:   http.StatusUnsupportedMediaType,
	domain.ReasonRequestTooLarge:        http.StatusRequestEntityTooLarge,
	domain.ReasonNotFound:               http.StatusNotFound,
	domain.ReasonMethodNotAllowed:       http.StatusMethodNotAllowed,
	domain.ReasonRateLimitExceeded:      http.StatusTooManyRequests,
	domain.ReasonInternal:               http.StatusInternalServerError,
}

// retryAfter is what a caller is told to wait for a store that cannot take its request, in seconds.
const retryAfter = 2

// errorBody is the error answer (D3).
type errorBody struct {
	Error errorDetail `json:"error"`
}

type errorDetail struct {
	ErrorID            domain.Reason     `json:"errorId"`
	Description        string            `json:"description"`
	DiagnosticsID      string            `json:"diagnosticsId"`
	RecoverySuggestion string            `json:"recoverySuggestion,omitempty"`
	ValidationErrors   []validationError `json:"validationErrors,omitempty"`
	PaymentID          domain.PaymentID  `json:"paymentId,omitempty"`
	PaymentStatus      string            `json:"paymentStatus,omitempty"`
}

type validationError struct {
	Model  string      `json:"model"`
	Errors []violation `json:"errors"`
}

type violation struct {
	Path        string `json:"path"`
	Description string `json:"description"`
}

// fail writes the error answer of err and gives its status. What is not a domain error is an internal one:
// nothing of it leaves the process.
func (c *call) fail(err error) int {
	var e *domain.Error
	if !errors.As(err, &e) || statuses[e.Reason] == 0 {
		e = &domain.Error{Reason: domain.ReasonInternal, Message: "Something went wrong on our side."}
	}
	status := statuses[e.Reason]
	if status == http.StatusServiceUnavailable {
		c.w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
	}
	detail := errorDetail{
		ErrorID: e.Reason, Description: e.Message, DiagnosticsID: c.id, RecoverySuggestion: e.Recovery,
		PaymentID: e.Payment, PaymentStatus: e.Status,
	}
	if len(e.Violations) > 0 {
		v := validationError{Model: e.Model}
		for _, x := range e.Violations {
			v.Errors = append(v.Errors, violation(x))
		}
		detail.ValidationErrors = []validationError{v}
	}
	if writeErr := c.respond(status, errorBody{detail}); writeErr != nil {
		c.api.Logger.Debug().Err(writeErr).Str("requestId", c.id).Msg("the caller went away")
	}
	return status
}

func malformed(cause error) error {
	return domain.Refuse(domain.KindInvalid, domain.ReasonMalformedJSON, "The body must be one JSON object: %s.", cause)
}
