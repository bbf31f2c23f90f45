package api

import (
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/stripe/stripe-go/v84"

	"payledger/domain/processor"
	"payledger/processorsim/connector"
	"payledger/processorsim/protocol"
)

const (
	codeInvalidAmount = protocol.CodeInvalidAmount
	codeCannotAdjust  = "cannot_adjust"  // Stripe does not change this authorization to this amount
	codeOneCapture    = "one_capture"    // the account captures an authorization once
	codeNotConfigured = "not_configured" // the key is wrong, or lacks a permission
	codeAuthFailed    = protocol.CodeAuthenticationError
)

// refusal is an error that means: Stripe, or the connector without Stripe, does not carry the order
// out. It is a result unless an earlier try may still arrive.
type refusal struct {
	code, message string
	retryable     bool
	local         bool   // Stripe was not asked: an earlier try was refused in the same way
	replayed      bool   // Stripe's saved answer to the first request under the key
	declined      bool   // because of the card
	param         string // the parameter of the request that Stripe refuses; "": it names none
}

func (r *refusal) Error() string { return "refused: " + r.code + ": " + r.message }

// refuse returns a refusal without a question to Stripe.
func refuse(code, message string) error { return &refusal{code: code, message: message, local: true} }

func (r *refusal) result() connector.Result {
	state := processor.Failed
	if r.declined {
		state = processor.Declined
	}
	return connector.Result{Answer: processor.Answer{State: state, Code: r.code, Message: r.message, Retryable: r.retryable}}
}

// errSeen means that Stripe has had a request under this key, with other parameters or with an
// answer that is no outcome.
var errSeen = errors.New("Stripe has had a request under this key")

// errKept is an errSeen: Stripe keeps a 500 as its answer under this key, and has no other one.
var errKept = fmt.Errorf("%w, and keeps a failure", errSeen)

// another calls a function that makes an object which moves no money, with a key. If Stripe keeps a
// failure under the key, another calls it again with a second key: else the order would have no
// object until Stripe forgets the first.
func another(key string, create func(key string) error) error {
	err := create(key)
	if errors.Is(err, errKept) {
		err = create(key + "-2")
	}
	return err
}

// explain turns an error of a call into one of: connector.ErrNothing, *refusal, errSeen, errKept,
// *declined, or an error that leaves the outcome unknown. No text of it has a value of the request.
func explain(err error) error {
	failed, is := errors.AsType[*stripe.Error](err)
	if !is {
		if at, is := errors.AsType[*net.OpError](err); is && at.Op == "dial" {
			return fmt.Errorf("%w: Stripe cannot be reached: %w", connector.ErrNothing, at)
		}
		return fmt.Errorf("no answer of Stripe: %w", withoutBody(err))
	}
	replayed := failed.LastResponse != nil && failed.LastResponse.Header.Get("Idempotent-Replayed") == "true"
	said := fmt.Errorf("Stripe answered %d %s %s (request %s)", failed.HTTPStatusCode, failed.Type, failed.Code, failed.RequestID)
	switch status := failed.HTTPStatusCode; {
	case failed.Type == stripe.ErrorTypeIdempotency && status == http.StatusBadRequest:
		return fmt.Errorf("%w: %w", errSeen, said)
	case status == http.StatusTooManyRequests:
		return fmt.Errorf("%w: %w", connector.ErrNothing, said)
	case status == http.StatusPaymentRequired:
		return &declined{failed}
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return &refusal{code: codeNotConfigured, message: "Stripe does not accept the key of the connector, or the key lacks a permission", retryable: true, replayed: replayed}
	case status == http.StatusBadRequest || status == http.StatusNotFound:
		return &refusal{code: refusalCode(failed), message: safe(failed.Msg), replayed: replayed, param: failed.Param}
	case status >= http.StatusInternalServerError && replayed: // the saved answer is no outcome
		return fmt.Errorf("%w: %w", errKept, said)
	}
	return said // 409 while the first request runs, 5xx, and whatever is not known
}

// unread returns the error of a question about an object, after which the outcome of the order is
// unknown: Stripe refused the question, or did not get it, and says nothing about the order.
func unread(err error) error { return errors.New("Stripe does not show the object: " + err.Error()) }

// withoutBody returns an error whose text has no body of an answer: stripe-go puts one there if it
// cannot be read.
func withoutBody(err error) error {
	var network net.Error
	if errors.As(err, &network) || errors.Is(err, errTooLarge) {
		return err
	}
	return errors.New("it cannot be read")
}

// declined is a card error.
type declined struct{ stated *stripe.Error }

func (d *declined) Error() string { return "declined: " + string(d.stated.Code) }

// refusalCode returns the protocol's code of a refused request, or Stripe's own.
func refusalCode(e *stripe.Error) string {
	var status stripe.PaymentIntentStatus
	if e.PaymentIntent != nil {
		if status = e.PaymentIntent.Status; canceled(e.PaymentIntent) {
			status = stripe.PaymentIntentStatusCanceled
		}
	}
	switch e.Code {
	case stripe.ErrorCodeAmountTooLarge:
		return protocol.CodeAboveAuthorized
	case stripe.ErrorCodeAmountTooSmall:
		return codeInvalidAmount
	case stripe.ErrorCodeChargeAlreadyRefunded:
		return protocol.CodeAboveCaptured
	case stripe.ErrorCodeChargeAlreadyCaptured:
		return protocol.CodeAlreadyCaptured
	case stripe.ErrorCodeResourceMissing:
		return protocol.CodeParentNotFound
	case stripe.ErrorCodePaymentIntentUnexpectedState:
		switch status {
		case stripe.PaymentIntentStatusCanceled:
			return protocol.CodeAlreadyVoided
		case stripe.PaymentIntentStatusSucceeded:
			return protocol.CodeAlreadyCaptured
		}
		return protocol.CodeNotAuthorized
	case "":
		return processor.CodeRejected
	}
	return string(e.Code)
}
