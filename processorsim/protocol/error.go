package protocol

import "payledger/domain/processor"

// Code names a refusal: of a request (in an ErrorBody, with a 4xx or 5xx status), or of an
// operation (in processor.Answer.Code, with state FAILED). Declines carry the issuer's two
// characters instead (D13).
type Code = string

// Codes of requests that were not carried out. They are no fact about the payment (D8).
const (
	CodeInvalidRequest   Code = "invalid_request"    // 400 or 422: a bug of the caller
	CodeKeyReused        Code = "key_reused"         // 422: the key was used for another operation
	CodeInProgress       Code = "in_progress"        // 409: the first request under the key is still running
	CodeUnauthorized     Code = "unauthorized"       // 401: the header Authorization has not the connector's token
	CodeNotFound         Code = "not_found"          // 404: no such path or processor
	CodeMethodNotAllowed Code = "method_not_allowed" // 405
	CodeRequestTooLarge  Code = "request_too_large"  // 413
	CodeUnavailable      Code = "unavailable"        // 503: shutting down, or the books cannot be written
)

// Codes of operations that the processor refused: it did nothing.
const (
	CodeCardNotSupported    Code = "card_not_supported"      // not in the table of D13
	CodeGatewayRejected     Code = "gateway_rejected"        // D13: FAILED, GATEWAY_REJECTED
	CodeTechnicalError      Code = processor.CodeFault       // retryable: another processor may be tried (D15)
	CodeFenced              Code = "fenced"                  // the key was fenced before the operation came
	CodeParentNotFound      Code = "parent_not_found"        // no such transaction for this reference here
	CodeCurrencyMismatch    Code = "currency_mismatch"       // not the authorization's currency
	CodeInvalidAmount       Code = "invalid_amount"          // zero where an amount is needed
	CodeNotAuthorized       Code = "not_authorized"          // pending, declined, or waiting for the customer
	CodeNoActionPending     Code = "no_action_pending"       // complete of an authorization without a required action
	CodeAlreadyVoided       Code = "already_voided"          // the authorization was released
	CodeAlreadyCaptured     Code = "already_captured"        // nothing left to release or to adjust
	CodeAboveAuthorized     Code = "amount_above_authorized" // capture above the rest
	CodeAboveCaptured       Code = "amount_above_captured"   // refund above the rest
	CodeVoidRefused         Code = "void_refused"            // D13: every cancel fails at the processor
	CodeCaptureFailed       Code = "capture_failed"          // D13: every capture ends FAILED
	CodeRefundFailed        Code = "refund_failed"           // D13: every refund ends FAILED
	CodeVoided              Code = processor.CodeVoided      // a pending authorization that was voided
	CodeTokenUnknown        Code = processor.CodeNoToken     // the card's token is not, or no longer, one of this merchant account
	CodeAuthenticationError Code = "1A"                      // a decline: strong authentication needed or failed
)

// ErrorBody is the body of every answer outside 200.
type ErrorBody struct {
	Error Error `json:"error"`
}

// Error is the reason why a request was not carried out. It never repeats a value of the request's
// body.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
}
