package httpapi

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"unicode/utf8"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/eventstore"
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
	Truncated          bool                `json:"truncated,omitempty"` // there are more violations
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

// unavailable turns the error of a log that is damaged or full, has no majority of its servers, or
// does not answer in time, into a 503.
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
	err = c.correctDenial(unavailable(c.maybeThere(err)))
	failure := err
	err = c.forCustomer(err)
	status, cut := c.fail(err)
	return outcome{status: status, failure: failure, cut: cut}
}

// forCustomer replaces an error that names the account's routing rules and processors, for a
// customer's browser (D12). The log has the error itself.
func (c *call) forCustomer(err error) error {
	if c.route.access != byClientToken || !errors.Is(err, payment.ErrNoProcessor) && !errors.Is(err, payment.ErrElsewhere) {
		return err
	}
	shown := &domain.Error{
		Kind: domain.KindConflict, Reason: reasonOf(err), Message: "No processor takes the payment now.",
		Recovery: "Try again later. The merchant finds the reason in the dashboard, under Processors and routing.",
	}
	if e, is := errors.AsType[*domain.Error](err); is && e.Payment != "" {
		shown.Payment, shown.Status = e.Payment, e.Status
		if !payment.Status(e.Status).EndedUnpaid() { // else the advice is the merchant's about the routing
			shown.Recovery = e.Recovery
		}
	}
	return shown
}

// maybeThere replaces an error that says that something does not exist, while the service is not
// ready: a log that is damaged, or views that are behind, may not show what exists (I1). A path
// that does not exist is known without the log.
func (c *call) maybeThere(err error) error {
	e, is := errors.AsType[*domain.Error](err)
	if !is || e.Kind != domain.KindNotFound || e.Reason == domain.ReasonNotFound || c.api == nil || c.api.Ready == nil {
		return err
	}
	if c.api.Ready(c.Ctx) == nil {
		return err
	}
	return &domain.Error{
		Kind: domain.KindUnavailable, Reason: domain.ReasonServiceUnavailable, NothingRecorded: true, Err: err,
		Message: "The service is not ready, and cannot tell whether it has what the request names.", Recovery: "Repeat the request when GET /readyz answers 200.",
	}
}

// correctDenial replaces an error that says that nothing was recorded with OutcomeUnknown, if the
// request has recorded something.
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

// fail writes the error answer of err and returns its status. An internal error shows none of its
// text.
func (c *call) fail(err error) (status int, writeErr error) {
	e, is := errors.AsType[*domain.Error](err)
	if !is || reasonOf(err) == domain.ReasonInternal {
		e = &domain.Error{Reason: domain.ReasonInternal, Message: "Something went wrong on our side."}
	}
	status = errorTable[e.Reason].status
	if e.Disputed {
		status = http.StatusConflict
	}
	if wait := max(int(math.Ceil(e.RetryAfter.Seconds())), retryAfter); status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests && c.w.Header().Get("Retry-After") == "" {
		c.w.Header().Set("Retry-After", strconv.Itoa(wait))
	}
	detail := errorDetail{
		ErrorID: e.Reason, Description: shortened(e.Message, maxDescription), DiagnosticsID: c.ID, RecoverySuggestion: shortened(c.suggestion(e), maxDescription),
		PaymentID: e.Payment, PaymentStatus: e.Status,
	}
	both, _ := errors.AsType[validation.Invalid](err)
	detail.list(e, both.Body)
	answer, encodeErr := encode(errorBody{detail})
	if encodeErr != nil {
		return status, encodeErr
	}
	if len(answer.body) > unbudgeted {
		c.owe(int64(len(answer.body)))
	}
	return status, c.write(status, answer)
}

// maxViolationBytes bounds the violations of an answer, in bytes of JSON; the answer to a refusal
// has at most 64 kB (D22.14).
const maxViolationBytes = 48 << 10

// list adds the violations of errors, in order, as long as there is room. The rest is left out, and
// truncated.
func (d *errorDetail) list(all ...*domain.Error) {
	count, room := domain.ListedViolations, maxViolationBytes
	for i, e := range all {
		if e == nil || len(e.Violations) == 0 || i > 0 && e == all[0] {
			continue
		}
		listed := violationsOfModel{Model: e.Model, Errors: []violation{}}
		for _, v := range e.Violations {
			one := violation{shortened(v.Path, maxPath), shortened(v.Description, maxDescription)}
			size := jsonSize(one.Path) + jsonSize(one.Description)
			if count == 0 || size > room {
				d.Truncated = true
				break
			}
			count--
			room -= size
			listed.Errors = append(listed.Errors, one)
		}
		if len(listed.Errors) > 0 {
			d.ValidationErrors = append(d.ValidationErrors, listed)
		}
	}
}

const maxPath, maxDescription, violationSyntax = 512, 2048, 34 // bytes

// jsonSize returns the greatest size of a text in JSON, with the names and signs around it.
func jsonSize(text string) int {
	n := violationSyntax + len(text)
	for i := range len(text) {
		if c := text[i]; c < ' ' || c == '<' || c == '>' || c == '&' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			n += 5
		}
	}
	return n
}

// shortened cuts a text at most bytes, between characters.
func shortened(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return domain.Beginning(text, most) + "…"
}
