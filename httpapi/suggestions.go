package httpapi

import (
	"payledger/domain"
	"payledger/domain/payment"
)

// suggestions are what a caller can do about an error of each reason (D3), where the error itself does not say it.
var suggestions = map[domain.Reason]string{
	domain.ReasonMalformedJSON:              "Send one JSON object in UTF-8, without repeated names, nested at most 32 deep.",
	domain.ReasonRequestValidation:          "Correct what validationErrors names and send the request again.",
	domain.ReasonSessionValidation:          "Correct the fields of the session. If its client token has expired, open another session: POST /client-session.",
	domain.ReasonMetadataEmptyKey:           "Give every key of metadata a name.",
	domain.ReasonPayment:                    "Check the id, and that the API key is of the payment's account. GET /payments lists the account's payments.",
	domain.ReasonEntityNotFound:             "Check the id, and that the key or token of the request is of the same account and environment.",
	domain.ReasonInvalidPaymentStatus:       "Read the payment to see its status: GET /payments/{id}.",
	domain.ReasonIncorrectAuthorizationType: "Only payments created with paymentMethod.authorizationType ESTIMATED can be adjusted. Cancel this one and create another.",
	domain.ReasonNotAuthorizedYet:           "Adjust the payment when it is AUTHORIZED: the webhook PAYMENT.STATUS tells, and GET /payments/{id}.",
	domain.ReasonAdjustNonCard:              "Only card payments can be adjusted. Cancel this one and create another.",
	domain.ReasonAdjustNotSupported:         "The payment's processor cannot adjust authorizations. Cancel the payment and create another.",
	domain.ReasonPaymentAlreadyRefunded:     "Nothing is left to do: GET /payments/{id} shows the refunds.",
	domain.ReasonUnprocessableRefundAmount:  "Refund at most what is left, in minor units: 1050 for 10.50 EUR; without amount all of it is refunded. Use another X-Idempotency-Key.",
	domain.ReasonIdempotencyKeyExists:       "Read the payment to see what became of the first request.",
	domain.ReasonPaymentRequestLimit:        "Do not repeat the request. GET /payments/{id}/events shows what was tried and why it failed.",
	domain.ReasonNoActionsToHandle:          "Read the payment by its id to see what becomes of it.",
	domain.ReasonAttemptNotPending:          "The attempt was decided or has expired. currentAttemptId of GET /client-session names the one that waits, if one does.",
	domain.ReasonAmountChanged:              "Show the customer what the session asks for now; nothing was charged.",
	domain.ReasonInstrumentToken:            "Make another token of the card: POST /payment-instruments.",
	domain.ReasonFailedVerification:         "Ask the customer to check the card's details, or for another card.",
	domain.ReasonConcurrentModification:     "It is safe to repeat the request.",
	domain.ReasonServiceUnavailable:         "Repeat the request after the time that Retry-After gives, with the same X-Idempotency-Key.",
	domain.ReasonInternal:                   "Before you repeat an operation, read the payment to see what became of it. Report the diagnosticsId: the log has the cause.",
	domain.ReasonUnauthorized:               "Send an API key of this environment in the header X-API-KEY.",
	domain.ReasonMissingScope:               "Use an API key that has the scope, or make one with such a key: POST /management/api-keys.",
	domain.ReasonAPIVersionMissing:          "Send the header X-API-VERSION: " + apiVersion + ".",
	domain.ReasonAPIVersionNotSupported:     "Send the header X-API-VERSION: " + apiVersion + ".",
	domain.ReasonUnsupportedMediaType:       "Send the header Content-Type: application/json.",
	domain.ReasonRequestTooLarge:            "Send less: metadata, line items and descriptions take the most room.",
	domain.ReasonHeadersTooLarge:            "Send fewer or shorter headers: 32 KiB in all, the address of the request included. Most cookies are not for this service.",
	domain.ReasonNotFound:                   "All paths stand in the document of GET /openapi.yaml.",
	domain.ReasonMethodNotAllowed:           "Use one of the methods that the header Allow names.",
	domain.ReasonRateLimitExceeded:          "Repeat the request after the time that Retry-After gives.",
}

// suggestion is what the caller can do about an error of the call.
func (c *call) suggestion(e *domain.Error) string {
	if e.Recovery != "" {
		return e.Recovery
	}
	usual := suggestions[e.Reason]
	switch e.Reason {
	case domain.ReasonInvalidPaymentStatus:
		if text := statusSuggestion(c.route.operation, payment.Status(e.Status)); text != "" {
			return text
		}
	case domain.ReasonPayment:
		if creates[c.route.operation] {
			return "Make another token of a card (POST /payment-instruments) and create the payment with it."
		}
	case domain.ReasonUnauthorized:
		return c.credentialSuggestion()
	case domain.ReasonAPIVersionMissing:
		return didYouMean(c.r.Header, "X-API-VERSION") + usual
	case domain.ReasonNotFound:
		if near := nearPath(c.api.table, c.r.URL.Path, c.r.Method); near != "" {
			return "Did you mean " + near + "? " + usual
		}
	}
	return usual
}

// creates are the calls that make a payment.
var creates = map[string]bool{
	"createPayment": true, "createCheckoutPayment": true, "createPaymentAttempt": true, "approvePaymentAttempt": true,
}

// credentialSuggestion says how callers of a call show who they are.
func (c *call) credentialSuggestion() string {
	switch c.route.access {
	case byClientToken, byActionToken:
		return didYouMean(c.r.Header, clientTokenHeaders[0]) + "Send the session's clientToken in the header " + clientTokenHeaders[0] + "."
	case bySignature:
		return "Sign the body with the secret of --processor-secret, in the header X-Processor-Signature."
	}
	hint := didYouMean(c.r.Header, "X-API-KEY")
	if hint == "" && c.r.Header.Get("X-Api-Key") == "" && c.r.Header.Get("Authorization") != "" {
		hint = "The header Authorization is not read. "
	}
	return hint + suggestions[domain.ReasonUnauthorized]
}

// statusSuggestion is what can be done about a payment whose status does not allow an operation (D7); "" if only reading
// the payment helps.
func statusSuggestion(operation string, status payment.Status) string {
	ended := status == payment.StatusCancelled || status == payment.StatusDeclined || status == payment.StatusFailed
	switch operation {
	case "cancelPayment":
		if status == payment.StatusSettled {
			return "A settled payment is refunded, not cancelled: POST /payments/{id}/refund."
		}
		return "Nothing is reserved on the card, so nothing is left to cancel."
	case "capturePayment":
		switch {
		case ended:
			return "Nothing is reserved on the card. To charge the customer, create another payment: POST /payments."
		case status == payment.StatusPending:
			return "Capture the payment when it is AUTHORIZED: the webhook PAYMENT.STATUS tells, and GET /payments/{id}."
		}
		return "All is captured, or the last capture was final and released the rest. To charge more, create another payment: POST /payments."
	case "refundPayment":
		if ended {
			return "Nothing was captured, so nothing is left to refund."
		}
		return "Nothing is captured yet. Cancel the payment to release what is reserved: POST /payments/{id}/cancel."
	case "adjustPaymentAuthorization":
		return "Only a payment that is AUTHORIZED can be adjusted. For another amount create another payment: POST /payments."
	case "resumePayment", "resumeCheckoutPayment":
		return "Only a payment with a requiredAction is resumed. GET /payments/{id} shows how it stands."
	default:
		return ""
	}
}
