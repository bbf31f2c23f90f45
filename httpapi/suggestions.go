package httpapi

import (
	"net/http"
	"slices"
	"strings"

	"payledger/domain"
	"payledger/domain/payment"
)

// errorTable has the HTTP status of each errorId (D3), and the suggestion to the caller where the
// error itself has none.
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
	domain.ReasonAttemptNotPending:          {http.StatusConflict, "The attempt was decided or has expired. currentAttemptId of GET /client-session names the session's attempt. If none waits and there is no payment, the customer starts another one: POST /payment-attempts."},
	domain.ReasonAmountChanged:              {http.StatusConflict, "Nothing was charged. GET /checkout/configuration has what the session asks for now: show it to the customer, and send this amount and currencyCode."},
	domain.ReasonInstrumentToken:            {http.StatusBadRequest, "Make another token of the card: POST /payment-instruments."},
	domain.ReasonFailedVerification:         {http.StatusBadRequest, "Ask the customer to check the card's details, or for another card, and make another token: POST /payment-instruments. This one has ended."},
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
	switch {
	case e.Recovery == domain.RepeatWithKey:
		return afterUnknown(c.api, c.route)
	case e.Recovery == domain.WaitForNodes:
		return untilApplied(c.api, c.route)
	case e.Recovery != "" && e.Payment != "" && namesPayment[e.Reason]:
		return e.Recovery + " GET " + paymentsOf(c.route) + "/{id} shows it."
	case e.Recovery != "":
		return e.Recovery
	}
	if own := adviceOf[e.Reason][c.route.operation]; own != "" {
		return own
	}
	usual := errorTable[e.Reason].suggestion
	switch e.Reason {
	case domain.ReasonInvalidPaymentStatus:
		if text := statusSuggestion(strings.Replace(c.route.operation, "Managed", "", 1), payment.Status(e.Status)); text != "" {
			return text
		}
	case domain.ReasonPayment:
		if with := creates[c.route.operation]; with != "" {
			text := "Make another token of a card (POST /payment-instruments) and " + with
			if e.Payment != "" {
				return "The payment that paymentId names charged nothing. " + text
			}
			return text
		}
		if c.route.access == byClientToken {
			return "Check the id: a client token shows the payments of its own session only."
		}
		return strings.Replace(usual, "GET /payments", "GET "+paymentsOf(c.route), 1)
	case domain.ReasonInternal:
		return afterFault(c.api, c.route)
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

// listOf returns the path of the call that lists what a route's id names; "" if there is none for
// the caller's credentials.
func (a *API) listOf(r route) string {
	list, _, named := strings.Cut(r.path, "/{")
	for _, other := range a.table {
		if named && other.method == http.MethodGet && other.path == list && other.access == r.access {
			return list
		}
	}
	return ""
}

// creates has the calls that make a payment, with what a caller does with another token. A payment
// in a MANUAL session needs an attempt.
var creates = map[string]string{
	"createPayment": "create the payment with it.", "createCheckoutPayment": "create the payment with it.",
	"createPaymentAttempt": "start another attempt with it: POST /payment-attempts.", "approvePaymentAttempt": "start another attempt with it: POST /payment-attempts.",
}

func (c *call) credentialSuggestion() string {
	switch c.route.access {
	case byClientToken, byActionToken:
		return didYouMean(c.r.Header, clientTokenHeader) + "Send the session's clientToken in the header " + clientTokenHeader + "."
	case bySignature:
		return "Sign the body with the processor's --processor-secret, in the header X-Processor-Signature."
	}
	hint := didYouMean(c.r.Header, "X-API-KEY")
	if hint == "" && c.r.Header.Get("X-Api-Key") == "" && c.r.Header.Get("Authorization") != "" {
		hint = "The header Authorization is not read. "
	}
	return hint + errorTable[domain.ReasonUnauthorized].suggestion
}

// statusSuggestion returns the recovery for a payment whose status forbids an operation (D7); "" if
// only reading the payment helps.
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

// adviceOf has the suggestion of an errorId for a call, where that of the errorTable names no call
// that its caller can make.
var adviceOf = map[domain.Reason]map[string]string{
	domain.ReasonEntityNotFound: {
		"approvePaymentAttempt": attemptOfSession, "abortPaymentAttempt": attemptOfSession,
		"getPaymentAttempt":   "Check the id: GET /checkout/configuration names the session's attempt as session.currentAttemptId. A client token shows the attempts of its own session only.",
		"eraseCustomer":       "Check the customerId: GET /management/payments lists the account's payments with theirs.",
		"getWebhookReplay":    "Check the id: " + listReplays + " lists the account's replays.",
		"createWebhookReplay": "Check endpointId: GET /management/webhook-endpoints lists the account's own.",
		"simulateNewWorkflow": "Check workflowId: GET /management/workflows lists the account's own.",
	},
	domain.ReasonInstrumentToken: {"makePaymentInstrumentDefault": savedTokens, "deletePaymentInstrument": savedTokens},
	domain.ReasonAmountChanged: {
		"approvePaymentAttempt": "Nothing was charged. The customer has to agree to what GET /client-session shows now: show it, and start another attempt with this amount and currencyCode: POST /payment-attempts.",
	},
	domain.ReasonPayment: {"completeRequiredAction": "Use the clientToken of the requiredAction that GET /checkout/payments/{id} shows."},
}

const (
	attemptOfSession = "Check the id: currentAttemptId of GET /client-session names the attempt of a session. The API key has to be of the session's account."
	savedTokens      = "Check the token: GET /payment-instruments lists the tokens that a customer has saved, by customer_id."
	listReplays      = "GET /management/audit-log?type=webhook.replay_requested"
)

// namesPayment are the errorIds whose paymentId names the payment that the suggestion is about (D9,
// D5.2).
var namesPayment = map[domain.Reason]bool{domain.ReasonIdempotencyKeyExists: true, domain.ReasonPayment: true}

// paymentsOf returns the path of the payments that the caller of a route can read.
func paymentsOf(r route) string {
	switch {
	case r.access != byAPIKey:
		return "/checkout/payments"
	case strings.HasPrefix(r.path, "/management/"):
		return "/management/payments"
	default:
		return "/payments"
	}
}

// paysOrOperates reports whether a route creates a payment or operates on one in a merchant's name,
// with an idempotency key (D9).
func paysOrOperates(r route) bool {
	return r.access == byAPIKey && r.method == http.MethodPost && r.operation != "eraseGuest" && (r.operation == "createPayment" || strings.Contains(r.path, "/payments/{id}/"))
}

// afterUnknown returns the recovery for a request that may have been recorded (D3).
func afterUnknown(a *API, r route) string {
	switch {
	case r.method == http.MethodGet:
		return "Repeat the request."
	case paysOrOperates(r):
		return strings.Replace(domain.RepeatWithKey, "GET /payments", "GET "+paymentsOf(r), 1)
	case r.access == byClientToken, r.access == byActionToken:
		return "Repeat the request with the same token: it pays once."
	}
	switch r.operation {
	case "rotateSigningSecret":
		return "GET /management/signing-secret shows whether the secret was rotated, by its createdAt. If not, repeat the request."
	case "createClientSession":
		return "Repeat the request: another session charges nothing."
	case "createApiKey":
		return "GET /management/api-keys shows whether the key was made. If it was, its text is lost: revoke it with DELETE /management/api-keys/{id}. Then repeat the request."
	case "createUser":
		return "GET /management/users shows whether the user was made. If so, PATCH /management/users/{id} with resetPassword sets another password; if not, repeat the request."
	case "createWorkflow":
		return "Repeat the request with the same X-Idempotency-Key. If it had none, GET /management/workflows shows whether the workflow was made."
	case "createWebhookReplay":
		return "Repeat the request with the same X-Idempotency-Key. If it had none, " + listReplays + " shows whether the replay was started."
	case "resendWebhookDelivery":
		return "GET /management/webhook-deliveries/{id} shows whether the webhook was sent. If not, repeat the request."
	case "createWebhookListener":
		return "Repeat the request: a listener without a reader is deleted after a minute."
	}
	switch {
	case a.lists(r):
		return "GET " + r.path + " shows whether it was made. If not, repeat the request."
	case r.method == http.MethodDelete:
		return "Repeat the request: it does nothing twice. EntityNotFound means that it was done."
	default:
		return "Repeat the request: it does nothing twice."
	}
}

// untilApplied returns the recovery for a change that is recorded, and that not every node has
// confirmed (I1).
func untilApplied(a *API, r route) string {
	switch {
	case r.operation == "rotateSigningSecret":
		return afterUnknown(a, r)
	case a.lists(r):
		return "Do not repeat the request: GET " + r.path + " shows what it made."
	default:
		return "Repeat the request: it answers when every node has applied the change."
	}
}

// afterFault returns the recovery for an InternalError: a change may have been recorded.
func afterFault(a *API, r route) string {
	const report = "Report the diagnosticsId: the log has the cause."
	if r.method == http.MethodGet {
		return report
	}
	return afterUnknown(a, r) + " " + report
}

// lists reports whether a route creates an element of a list that its caller can read at the same
// path.
func (a *API) lists(r route) bool {
	return r.method == http.MethodPost && slices.ContainsFunc(a.table, func(other route) bool {
		return other.method == http.MethodGet && other.path == r.path && other.access == r.access
	})
}
