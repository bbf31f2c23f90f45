package httpapi

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/httpapi/request"
	"payledger/httpapi/validation"
)

const retryAfter = 2 // seconds

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
	_, known := errors.AsType[*domain.Error](err)
	away := errors.Is(err, eventstore.ErrUnhealthy) || errors.Is(err, eventstore.ErrFull) || errors.Is(err, eventstore.ErrNoMajority) || errors.Is(err, context.DeadlineExceeded)
	if known || !away {
		return err
	}
	return &domain.Error{
		Kind: domain.KindUnavailable, Reason: domain.ReasonServiceUnavailable,
		Message: "The data cannot be read or written now.", Recovery: "Repeat the request.", NothingRecorded: true, Err: err,
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
	err = c.correctDenial(unavailable(err))
	status, cut := c.fail(err)
	return outcome{status: status, failure: err, cut: cut}
}

// correctDenial replaces an error that says that nothing was recorded with OutcomeUnknown, if the request has recorded something.
func (c *call) correctDenial(err error) error {
	if e, is := errors.AsType[*domain.Error](err); is && e.NothingRecorded && c.recorded() {
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
	e, is := errors.AsType[*domain.Error](err)
	if !is || reasonOf(err) == domain.ReasonInternal {
		e = &domain.Error{Reason: domain.ReasonInternal, Message: "Something went wrong on our side."}
	}
	status = errorTable[e.Reason].status
	if wait := max(int(math.Ceil(e.RetryAfter.Seconds())), retryAfter); status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests && c.w.Header().Get("Retry-After") == "" {
		c.w.Header().Set("Retry-After", strconv.Itoa(wait))
	}
	detail := errorDetail{
		ErrorID: e.Reason, Description: e.Message, DiagnosticsID: c.ID, RecoverySuggestion: c.suggestion(e),
		PaymentID: e.Payment, PaymentStatus: e.Status,
	}
	if len(e.Violations) > 0 {
		detail.ValidationErrors = []violationsOfModel{violationsOf(e.Model, e.Violations)}
	}
	if both, is := errors.AsType[validation.Invalid](err); is {
		detail.ValidationErrors = append(detail.ValidationErrors, violationsOf(both.Body.Model, both.Body.Violations))
	}
	answer, encodeErr := encode(errorBody{detail})
	if encodeErr != nil {
		return status, encodeErr
	}
	return status, c.write(status, answer)
}
