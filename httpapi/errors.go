package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"payledger/domain"
	"payledger/eventstore"
)

// statuses is the one table from errorId to HTTP status (D3).
var statuses = map[domain.Reason]int{
	domain.ReasonMalformedJSON:              http.StatusBadRequest,
	domain.ReasonRequestValidation:          http.StatusUnprocessableEntity,
	domain.ReasonSessionValidation:          http.StatusBadRequest,
	domain.ReasonMetadataEmptyKey:           http.StatusBadRequest,
	domain.ReasonPayment:                    http.StatusBadRequest,
	domain.ReasonEntityNotFound:             http.StatusNotFound,
	domain.ReasonInvalidPaymentStatus:       http.StatusBadRequest,
	domain.ReasonIncorrectAuthorizationType: http.StatusBadRequest,
	domain.ReasonNotAuthorizedYet:           http.StatusBadRequest,
	domain.ReasonAdjustNonCard:              http.StatusBadRequest,
	domain.ReasonAdjustNotSupported:         http.StatusBadRequest,
	domain.ReasonPaymentAlreadyRefunded:     http.StatusConflict,
	domain.ReasonUnprocessableRefundAmount:  http.StatusUnprocessableEntity,
	domain.ReasonIdempotencyKeyExists:       http.StatusConflict,
	domain.ReasonPaymentRequestLimit:        http.StatusConflict,
	domain.ReasonNoActionsToHandle:          http.StatusAccepted,
	domain.ReasonAttemptNotPending:          http.StatusConflict,
	domain.ReasonAmountChanged:              http.StatusConflict, // D12
	domain.ReasonInstrumentToken:            http.StatusBadRequest,
	domain.ReasonFailedVerification:         http.StatusBadRequest,
	domain.ReasonConcurrentModification:     http.StatusConflict,
	domain.ReasonServiceUnavailable:         http.StatusServiceUnavailable,
	domain.ReasonInternal:                   http.StatusInternalServerError,
	domain.ReasonUnauthorized:               http.StatusUnauthorized, // D2
	domain.ReasonMissingScope:               http.StatusForbidden,
	domain.ReasonAPIVersionMissing:          http.StatusBadRequest, // D1
	domain.ReasonAPIVersionNotSupported:     http.StatusBadRequest,
	domain.ReasonUnsupportedMediaType:       http.StatusUnsupportedMediaType,
	domain.ReasonRequestTooLarge:            http.StatusRequestEntityTooLarge,
	domain.ReasonHeadersTooLarge:            http.StatusRequestHeaderFieldsTooLarge,
	domain.ReasonNotFound:                   http.StatusNotFound,
	domain.ReasonMethodNotAllowed:           http.StatusMethodNotAllowed,
	domain.ReasonRateLimitExceeded:          http.StatusTooManyRequests,
}

// retryAfter is what a caller is told to wait for a store that cannot take its request, in seconds.
const retryAfter = 2

// errorBody is the error answer (D3).
type errorBody struct {
	Error errorDetail `json:"error"`
}

type errorDetail struct {
	ErrorID            domain.Reason       `json:"errorId"`
	Description        string              `json:"description"`
	DiagnosticsID      string              `json:"diagnosticsId"`
	RecoverySuggestion string              `json:"recoverySuggestion,omitempty"`
	ValidationErrors   []violationsOfModel `json:"validationErrors,omitempty"`
	PaymentID          domain.PaymentID    `json:"paymentId,omitempty"`
	PaymentStatus      string              `json:"paymentStatus,omitempty"`
}

type violationsOfModel struct {
	Model  string      `json:"model"`
	Errors []violation `json:"errors"`
}

type violation struct {
	Path        string `json:"path"`
	Description string `json:"description"`
}

func violationsOf(model string, found []domain.Violation) violationsOfModel {
	v := violationsOfModel{Model: model, Errors: make([]violation, len(found))}
	for i, f := range found {
		v.Errors[i] = violation(f)
	}
	return v
}

// invalid is a RequestValidationError about query and body at once.
type invalid struct {
	query, body *domain.Error
}

func (e invalid) Error() string   { return e.query.Error() + "; " + e.body.Error() }
func (e invalid) Unwrap() []error { return []error{e.query, e.body} }

// refuse makes one error of what is wrong with the query and with the body; nil when nothing is.
func refuse(query violations, model string, body violations) error {
	q, b := domain.Invalid(modelQuery, query...), domain.Invalid(model, body...)
	switch {
	case len(query) > 0 && len(body) > 0:
		return invalid{q, b}
	case len(query) > 0:
		return q
	case len(body) > 0:
		return b
	default:
		return nil
	}
}

// unavailable makes an error of a log that is damaged or full, or does not answer in time, into the answer for it,
// wherever it came from.
func unavailable(err error) error {
	var known *domain.Error
	away := errors.Is(err, eventstore.ErrUnhealthy) || errors.Is(err, eventstore.ErrFull) || errors.Is(err, context.DeadlineExceeded)
	if errors.As(err, &known) || !away {
		return err
	}
	return &domain.Error{
		Kind: domain.KindUnavailable, Reason: domain.ReasonServiceUnavailable,
		Message: "The data cannot be read or written now.", Recovery: "Repeat the request.", Err: err,
	}
}

// reasonOf gives the row of the table that err belongs to. What is not a domain error is an internal one.
func reasonOf(err error) domain.Reason {
	if reason := domain.ReasonOf(err); statuses[reason] != 0 {
		return reason
	}
	return domain.ReasonInternal
}

// failed answers a request that failed.
func (c *call) failed(err error) outcome {
	if c.gone(err) {
		return outcome{status: statusGone, failure: err, abort: true}
	}
	err = unavailable(err)
	status, cut := c.fail(err)
	return outcome{status: status, failure: err, cut: cut}
}

// gone reports whether a request failed because its caller went away, which is nobody's fault here.
func (c *call) gone(err error) bool {
	return errors.Is(err, context.Canceled) && errors.Is(c.r.Context().Err(), context.Canceled)
}

// fail writes the error answer of err and gives its status; nothing of an internal error leaves the process.
func (c *call) fail(err error) (status int, writeErr error) {
	var e *domain.Error
	if !errors.As(err, &e) || reasonOf(err) == domain.ReasonInternal {
		e = &domain.Error{Reason: domain.ReasonInternal, Message: "Something went wrong on our side."}
	}
	status = statuses[e.Reason]
	if status == http.StatusServiceUnavailable {
		c.w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
	}
	detail := errorDetail{
		ErrorID: e.Reason, Description: e.Message, DiagnosticsID: c.id, RecoverySuggestion: c.suggestion(e),
		PaymentID: e.Payment, PaymentStatus: e.Status,
	}
	if len(e.Violations) > 0 {
		detail.ValidationErrors = []violationsOfModel{violationsOf(e.Model, e.Violations)}
	}
	var both invalid
	if errors.As(err, &both) {
		detail.ValidationErrors = append(detail.ValidationErrors, violationsOf(both.body.Model, both.body.Violations))
	}
	answer, encodeErr := encode(errorBody{detail})
	if encodeErr != nil {
		return status, encodeErr
	}
	return status, c.write(status, answer)
}
