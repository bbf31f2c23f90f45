package domain

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Kind is the class of an error. Transports choose the answer by Reason; an unknown Reason is
// answered as ReasonInternal.
type Kind int

const (
	KindInternal     Kind = iota // our fault; the caller gets no details
	KindInvalid                  // the request can never succeed unchanged
	KindUnauthorized             // the caller is not known
	KindForbidden                // the caller has no permission
	KindNotFound                 // the addressed entity does not exist
	KindConflict                 // the entity's state does not allow it now
	KindUnavailable              // the store cannot accept it now; repeat later
)

// Reason is the errorId of D3. A new one needs a row in the table of D3 and in the error table of
// httpapi. Tests compare them.
type Reason string

const (
	ReasonMalformedJSON              Reason = "MalformedJson"
	ReasonRequestValidation          Reason = "RequestValidationError"
	ReasonSessionValidation          Reason = "ClientSessionValidationError"
	ReasonMetadataEmptyKey           Reason = "MetadataContainsEmptyKey"
	ReasonPayment                    Reason = "PaymentError"
	ReasonEntityNotFound             Reason = "EntityNotFound"
	ReasonInvalidPaymentStatus       Reason = "InvalidPaymentStatus"
	ReasonIdempotencyKeyExists       Reason = "IdempotencyKeyAlreadyExists"
	ReasonIncorrectAuthorizationType Reason = "IncorrectPaymentAuthorizationType"
	ReasonNotAuthorizedYet           Reason = "PaymentIsNotAuthorizedYet"
	ReasonAdjustNonCard              Reason = "AdjustAuthorizationNonCardPayment"
	ReasonAdjustNotSupported         Reason = "AdjustAuthorizationNotSupported"
	ReasonPaymentAlreadyRefunded     Reason = "PaymentAlreadyRefunded"
	ReasonUnprocessableRefundAmount  Reason = "UnprocessableRefundAmount"
	ReasonPaymentRequestLimit        Reason = "PaymentRequestLimitExceeded"
	ReasonNoActionsToHandle          Reason = "NoActionsToHandle"
	ReasonAttemptNotPending          Reason = "PaymentAttemptNotPending"
	ReasonAmountChanged              Reason = "AmountChanged"
	ReasonInstrumentToken            Reason = "InvalidPaymentInstrumentToken"
	ReasonFailedVerification         Reason = "FailedVerification"
	ReasonConcurrentModification     Reason = "ConcurrentModification"
	ReasonServiceUnavailable         Reason = "ServiceUnavailable"
	ReasonUnauthorized               Reason = "Unauthorized"
	ReasonMissingScope               Reason = "MissingScope"
	ReasonAPIVersionMissing          Reason = "ApiVersionMissing"
	ReasonAPIVersionNotSupported     Reason = "ApiVersionNotSupported"
	ReasonUnsupportedMediaType       Reason = "UnsupportedMediaType"
	ReasonRequestTooLarge            Reason = "RequestTooLarge"
	ReasonHeadersTooLarge            Reason = "RequestHeadersTooLarge"
	ReasonNotFound                   Reason = "NotFound"
	ReasonMethodNotAllowed           Reason = "MethodNotAllowed"
	ReasonRateLimitExceeded          Reason = "RateLimitExceeded"
	ReasonInternal                   Reason = "InternalError"
)

// Violation is a fault of a request: its place ("$.order.lineItems[0].amount") and a description.
type Violation struct {
	Path        string
	Description string
}

// Error is the one error type that crosses package borders. Message is safe to show to the caller;
// Err is only logged.
type Error struct {
	Kind            Kind
	Reason          Reason
	Message         string
	Recovery        string        // advice for the caller; may be empty
	Model           string        // the schema of Violations, "Headers" or "QueryString"
	Violations      []Violation   // all of them, not only the first
	Payment         PaymentID     // the payment, where the contract names it (D3)
	Status          string        // that payment's status
	Disputed        bool          // a dispute of the payment forbids it: InvalidPaymentStatus is 409 then (D22.2)
	RetryAfter      time.Duration // when a repeat may succeed; 0: unknown
	NothingRecorded bool          // the message says, or lets the reader believe, that nothing was recorded
	Err             error         // the cause, for the log
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", e.Reason, e.Message)
	for _, v := range e.Violations {
		fmt.Fprintf(&b, "; %s %s", v.Path, v.Description)
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// Refuse returns an error with a message for the caller.
func Refuse(kind Kind, reason Reason, format string, args ...any) *Error {
	return &Error{Kind: kind, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Invalid returns a RequestValidationError with all violations (D3).
func Invalid(model string, violations ...Violation) *Error {
	return &Error{
		Kind: KindInvalid, Reason: ReasonRequestValidation, Message: "The request is not valid.",
		Model: model, Violations: violations,
	}
}

// InvalidAt is Invalid with one violation.
func InvalidAt(model, path, format string, args ...any) *Error {
	return Invalid(model, Violation{Path: path, Description: fmt.Sprintf(format, args...)})
}

// Unavailable wraps a failure of the store: nothing was recorded (D3).
func Unavailable(err error) *Error {
	return &Error{
		Kind: KindUnavailable, Reason: ReasonServiceUnavailable,
		Message: "The event store cannot take the request now. Nothing was recorded.", NothingRecorded: true, Err: err,
	}
}

// Advice that httpapi replaces for the calls to which it does not fit (D3).
const (
	// RepeatWithKey is the advice about a request that may have been recorded.
	RepeatWithKey = "Repeat the request with the same X-Idempotency-Key. If it had none, first read the payment, or list the payments of the order: GET /payments."
	// WaitForNodes is the advice about a change that is recorded, and that not every node has
	// confirmed.
	WaitForNodes = "Read the object again before you repeat the request."
)

// EnableProcessor is the advice about an account whose rules leave no enabled processor (D15).
const EnableProcessor = "GET /management/processors lists the processors. Enable one: PATCH /management/processors/{name}."

// OutcomeUnknown says that the store may or may not have recorded the request (D3).
func OutcomeUnknown(err error) *Error {
	return &Error{
		Kind: KindUnavailable, Reason: ReasonServiceUnavailable,
		Message:  "The outcome of the request is unknown.",
		Recovery: RepeatWithKey, Err: err,
	}
}

// ReasonOf returns the reason of err, or ReasonInternal when it carries none.
func ReasonOf(err error) Reason {
	if e, is := errors.AsType[*Error](err); is {
		return e.Reason
	}
	return ReasonInternal
}

// ListedViolations is the greatest number of violations that an error lists (D22.14).
const ListedViolations = 100
