package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/httpapi/request"
	"payledger/httpapi/validation"
)

// retryAfter is the header Retry-After of a 503, in seconds.
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
	return violationsOfModel{model, request.Map(found, func(v domain.Violation) violation { return violation(v) })}
}

// unavailable turns the error of a log that is damaged or full, has no majority of its servers, or does not answer in time, into a 503.
func unavailable(err error) error {
	var known *domain.Error
	away := errors.Is(err, eventstore.ErrUnhealthy) || errors.Is(err, eventstore.ErrFull) || errors.Is(err, eventstore.ErrNoMajority) || errors.Is(err, context.DeadlineExceeded)
	if errors.As(err, &known) || !away {
		return err
	}
	return &domain.Error{
		Kind: domain.KindUnavailable, Reason: domain.ReasonServiceUnavailable,
		Message: "The data cannot be read or written now.", Recovery: "Repeat the request.", Denies: true, Err: err,
	}
}

// reasonOf returns the errorId of err: InternalError for an error without a reason of the table.
func reasonOf(err error) domain.Reason {
	if reason := domain.ReasonOf(err); errorTable[reason].status != 0 {
		return reason
	}
	return domain.ReasonInternal
}

func (c *call) failed(err error) outcome {
	if c.gone(err) {
		return outcome{status: statusGone, failure: err, abort: true}
	}
	err = c.outcomeOf(unavailable(err))
	status, cut := c.fail(err)
	return outcome{status: status, failure: err, cut: cut}
}

// outcomeOf returns an error whose text is true for this request. After a recorded event, an error that denies the recording becomes
// OutcomeUnknown.
func (c *call) outcomeOf(err error) error {
	var e *domain.Error
	if c.recorded() && errors.As(err, &e) && e.Denies {
		return domain.OutcomeUnknown(err)
	}
	return err
}

// gone reports whether a request failed because its caller went away.
func (c *call) gone(err error) bool {
	return errors.Is(err, context.Canceled) && errors.Is(c.r.Context().Err(), context.Canceled)
}

// fail writes the error answer of err and returns its status. An internal error shows none of its text.
func (c *call) fail(err error) (status int, writeErr error) {
	var e *domain.Error
	if !errors.As(err, &e) || reasonOf(err) == domain.ReasonInternal {
		e = &domain.Error{Reason: domain.ReasonInternal, Message: "Something went wrong on our side."}
	}
	status = errorTable[e.Reason].status
	if status == http.StatusServiceUnavailable {
		c.w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
	}
	detail := errorDetail{
		ErrorID: e.Reason, Description: e.Message, DiagnosticsID: c.ID, RecoverySuggestion: c.suggestion(e),
		PaymentID: e.Payment, PaymentStatus: e.Status,
	}
	if len(e.Violations) > 0 {
		detail.ValidationErrors = []violationsOfModel{violationsOf(e.Model, e.Violations)}
	}
	var both validation.Invalid
	if errors.As(err, &both) {
		detail.ValidationErrors = append(detail.ValidationErrors, violationsOf(both.Body.Model, both.Body.Violations))
	}
	answer, encodeErr := encode(errorBody{detail})
	if encodeErr != nil {
		return status, encodeErr
	}
	return status, c.write(status, answer)
}
