package httpapi

import (
	"net/http"
	"strings"

	"payledger/domain"
	"payledger/domain/payment"
)

// errorTable has the HTTP status of each errorId (D3), and the suggestion to the caller where the error itself has none.
var errorTable = map[domain.Reason]struct {
	status     int
	suggestion string
}{
	domain.ReasonMalformedJSON:              {http.StatusBadRequest, "Send one JSON object in UTF-8, without repeated names, nested at most 32 deep."},
	domain.ReasonRequestValidation:          {http.StatusUnprocessableEntity, "Correct what validationErrors names and send the request again."},
	domain.ReasonSessionValidation:          {http.StatusBadRequest, "Correct the fields of the session. If its client token has expired, open another session: POST /client-session."},
	domain.ReasonMetadataEmptyKey:           {http.StatusBadRequest, "Give every key of metadata a name."},
	domain.ReasonPayment:                    {http.StatusBadRequest, "Check the id, and that the API key is of the payment's account. GET /payments lists the account's payments."},
	domain.ReasonEntityNotFound:             {http.StatusNotFound, "Check the id, and that the key or token of the request is of the same account and environment."},
	domain.ReasonInvalidPaymentStatus:       {http.StatusBadRequest, "Read the payment to see its status: GET /payments/{id}."},
	domain.ReasonIncorrectAuthorizationType: {http.StatusBadRequest, "Only payments created with paymentMethod.authorizationType ESTIMATED can be adjusted. Cancel this one; when it is CANCELLED, create another."},
	domain.ReasonNotAuthorizedYet:           {http.StatusBadRequest, "Adjust the payment when it is AUTHORIZED: the webhook PAYMENT.STATUS and GET /payments/{id} show when."},
	domain.ReasonAdjustNonCard:              {http.StatusBadRequest, "Only card payments can be adjusted. Cancel this one; when it is CANCELLED, create another."},
	domain.ReasonAdjustNotSupported:         {http.StatusBadRequest, "The payment's authorization cannot be adjusted. Cancel the payment; when it is CANCELLED, create another."},
	domain.ReasonPaymentAlreadyRefunded:     {http.StatusConflict, "Nothing is left to do: GET /payments/{id} shows the refunds."},
	domain.ReasonUnprocessableRefundAmount:  {http.StatusUnprocessableEntity, "Refund at most what is left, in minor units: 1050 for 10.50 EUR; without amount all of it is refunded. Use another X-Idempotency-Key."},
	domain.ReasonIdempotencyKeyExists:       {http.StatusConflict, "Read the payment to see what became of the first request."},
	domain.ReasonPaymentRequestLimit:        {http.StatusConflict, "Do not repeat the request now. GET /payments/{id}/events shows what was tried and why it failed."},
	domain.ReasonNoActionsToHandle:          {http.StatusAccepted, "Read the payment by its id to see what becomes of it."},
	domain.ReasonAttemptNotPending:          {http.StatusConflict, "The attempt was decided or has expired. currentAttemptId of GET /client-session names the waiting attempt, if there is one."},
	domain.ReasonAmountChanged:              {http.StatusConflict, "Show the customer what the session asks for now; nothing was charged."},
	domain.ReasonInstrumentToken:            {http.StatusBadRequest, "Make another token of the card: POST /payment-instruments."},
	domain.ReasonFailedVerification:         {http.StatusBadRequest, "Ask the customer to check the card's details, or for another card."},
	domain.ReasonConcurrentModification:     {http.StatusConflict, "It is safe to repeat the request."},
	domain.ReasonServiceUnavailable:         {http.StatusServiceUnavailable, "Repeat the request after the time that Retry-After gives, with the same X-Idempotency-Key."},
	domain.ReasonInternal:                   {http.StatusInternalServerError, "Before you repeat an operation, read the payment to see what became of it. Report the diagnosticsId: the log has the cause."},
	domain.ReasonUnauthorized:               {http.StatusUnauthorized, "Send an API key of this environment in the header X-API-KEY."},
	domain.ReasonMissingScope:               {http.StatusForbidden, "Use an API key that has the scope, or make one with such a key: POST /management/api-keys."},
	domain.ReasonAPIVersionMissing:          {http.StatusBadRequest, "Send the header X-API-VERSION: " + apiVersion + "."},
	domain.ReasonAPIVersionNotSupported:     {http.StatusBadRequest, "Send the header X-API-VERSION: " + apiVersion + "."},
	domain.ReasonUnsupportedMediaType:       {http.StatusUnsupportedMediaType, "Send the header Content-Type: application/json."},
	domain.ReasonRequestTooLarge:            {http.StatusRequestEntityTooLarge, "Send less: metadata, line items and descriptions take the most room."},
	domain.ReasonHeadersTooLarge:            {http.StatusRequestHeaderFieldsTooLarge, "Send fewer or shorter headers: 32 KiB in all, the address of the request included. Most cookies are not for this service."},
	domain.ReasonNotFound:                   {http.StatusNotFound, "GET /openapi.yaml lists all paths."},
	domain.ReasonMethodNotAllowed:           {http.StatusMethodNotAllowed, "Use one of the methods that the header Allow names."},
	domain.ReasonRateLimitExceeded:          {http.StatusTooManyRequests, "Repeat the request after the time that Retry-After gives."},
}

func (c *call) suggestion(e *domain.Error) string {
	if e.Recovery != "" {
		return e.Recovery
	}
	usual := errorTable[e.Reason].suggestion
	switch e.Reason {
	case domain.ReasonInvalidPaymentStatus:
		if text := statusSuggestion(strings.Replace(c.route.operation, "Managed", "", 1), payment.Status(e.Status)); text != "" {
			return text
		}
	case domain.ReasonPayment:
		if creates[c.route.operation] {
			return "Make another token of a card (POST /payment-instruments) and create the payment with it."
		}
		if c.route.access == byClientToken {
			return "Check the id: a client token shows the payments of its own session only."
		}
	case domain.ReasonEntityNotFound:
		if list := c.api.listOf(c.route); list != "" {
			return usual + " GET " + list + " lists the account's own."
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

// listOf returns the path of the call that lists what a route's id names; "" if there is none for the caller's credentials.
func (a *API) listOf(r route) string {
	list, _, named := strings.Cut(r.path, "/{")
	for _, other := range a.table {
		if named && other.method == http.MethodGet && other.path == list && other.access == r.access {
			return list
		}
	}
	return ""
}

var creates = map[string]bool{
	"createPayment": true, "createCheckoutPayment": true, "createPaymentAttempt": true, "approvePaymentAttempt": true,
}

func (c *call) credentialSuggestion() string {
	switch c.route.access {
	case byClientToken, byActionToken:
		return didYouMean(c.r.Header, clientTokenHeader) + "Send the session's clientToken in the header " + clientTokenHeader + "."
	case bySignature:
		return "Sign the body with the secret of --processor-secret, in the header X-Processor-Signature."
	}
	hint := didYouMean(c.r.Header, "X-API-KEY")
	if hint == "" && c.r.Header.Get("X-Api-Key") == "" && c.r.Header.Get("Authorization") != "" {
		hint = "The header Authorization is not read. "
	}
	return hint + errorTable[domain.ReasonUnauthorized].suggestion
}

// statusSuggestion returns the recovery for a payment whose status forbids an operation (D7); "" if only reading the payment helps.
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
			return "Capture the payment when it is AUTHORIZED: the webhook PAYMENT.STATUS and GET /payments/{id} show when."
		case status == payment.StatusSettling:
			return "A capture has no result yet. Decide when the payment is no longer SETTLING: the webhook PAYMENT.STATUS and GET /payments/{id} show when."
		}
		return "All is captured, or the rest was released. To charge more than was captured, create another payment of the difference: POST /payments."
	case "refundPayment":
		if ended {
			return "Nothing was captured, so nothing is left to refund."
		}
		return "Nothing is captured yet. Cancel the payment to release what is reserved: POST /payments/{id}/cancel."
	case "adjustPaymentAuthorization":
		switch {
		case ended:
			return "Nothing is reserved on the card. To charge the customer, create another payment: POST /payments."
		case status == payment.StatusSettling:
			return "A capture has no result yet. If it fails and the payment is AUTHORIZED again, it can be adjusted: the webhook PAYMENT.STATUS and GET /payments/{id} show it."
		}
		return "Only a payment of which nothing is captured can be adjusted. Capture at most what is authorized; to charge more, create another payment of the difference: POST /payments."
	case "resumePayment":
		return "Only a payment with a requiredAction is resumed. GET /payments/{id} shows its status."
	case "resumeCheckoutPayment":
		return "Only a payment with a requiredAction is resumed. GET /checkout/payments/{id} shows its status."
	case "completeRequiredAction":
		return "The action has ended. GET /checkout/payments/{id} shows the payment, with the session's clientToken."
	default:
		return ""
	}
}
