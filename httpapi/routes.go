package httpapi

import (
	"net/http"

	"payledger/domain/account"
	"payledger/httpapi/checkout"
)

// access says what a caller must bring.
type access int

const (
	byAPIKey      access = iota // X-API-KEY with the route's scope
	byClientToken               // X-Client-Token: the customer's browser (D12)
	byActionToken               // X-Client-Token of a required action: the customer's browser (D12)
	bySignature                 // signed by a processor; its handler checks (D14)
	byPage                      // a page or what it loads: a browser's address line; failures are pages too (D12)
	byNothing                   // operations and documents
)

// route is one call. Operation is its operationId in openapi.yaml: its body is validated by that schema.
type route struct {
	method, path string
	access       access
	versioned    bool // needs X-API-VERSION (D1: checkout and management do not)
	scope        string
	operation    string
	handle       func(*call) (any, error)
}

// pathHealth and pathReady are what probes ask (I1).
const pathHealth, pathReady = "/healthz", "/readyz"

// routes are all calls, with their scopes (D2).
var routes = []route{
	{http.MethodPost, "/client-session", byAPIKey, true, account.ScopeClientTokensWrite, "createClientSession", createSession},
	{http.MethodGet, "/client-session", byAPIKey, true, account.ScopeClientTokensWrite, "getClientSession", getSession},
	{http.MethodPatch, "/client-session", byAPIKey, true, account.ScopeClientTokensWrite, "changeClientSession", changeSession},
	{http.MethodPost, "/payments", byAPIKey, true, account.ScopeTransactionsAuthorize, "createPayment", createPayment},
	{http.MethodGet, "/payments", byAPIKey, true, account.ScopeTransactionsRetrieve, "listPayments", listPayments},
	{http.MethodGet, "/payments/{id}", byAPIKey, true, account.ScopeTransactionsRetrieve, "getPayment", getPayment},
	{http.MethodGet, "/payments/{id}/events", byAPIKey, true, account.ScopeTransactionsRetrieve, "getPaymentEvents", getPaymentEvents},
	{http.MethodPost, "/payments/{id}/resume", byAPIKey, true, account.ScopeTransactionsAuthorize, "resumePayment", resumePayment},
	{http.MethodPost, "/payments/{id}/cancel", byAPIKey, true, account.ScopeTransactionsCancel, "cancelPayment", cancelPayment},
	{http.MethodPost, "/payments/{id}/capture", byAPIKey, true, account.ScopeTransactionsCapture, "capturePayment", capturePayment},
	{http.MethodPost, "/payments/{id}/refund", byAPIKey, true, account.ScopeTransactionsRefund, "refundPayment", refundPayment},
	{http.MethodPost, "/payments/{id}/adjust-authorization", byAPIKey, true, account.ScopeTransactionsAuthorize, "adjustPaymentAuthorization", adjustPayment},

	{http.MethodGet, "/payment-instruments", byAPIKey, true, account.ScopePaymentInstrumentRead, "listPaymentInstruments", listInstruments},
	{http.MethodPost, "/payment-instruments/{token}/vault", byAPIKey, true, account.ScopePaymentInstrumentWrite, "vaultPaymentInstrument", vaultInstrument},
	{http.MethodPost, "/payment-instruments/{token}/default", byAPIKey, true, account.ScopePaymentInstrumentWrite, "makePaymentInstrumentDefault", makeDefault},
	{http.MethodDelete, "/payment-instruments/{token}", byAPIKey, true, account.ScopePaymentInstrumentWrite, "deletePaymentInstrument", deleteInstrument},
	{http.MethodPost, "/payment-attempts/{id}/approve", byAPIKey, true, account.ScopeTransactionsAuthorize, "approvePaymentAttempt", approveAttempt},
	{http.MethodPost, "/payment-attempts/{id}/abort", byAPIKey, true, account.ScopeTransactionsAuthorize, "abortPaymentAttempt", abortAttempt},

	{http.MethodPost, "/payment-instruments", byClientToken, false, "", "createPaymentInstrument", createInstrument},
	{http.MethodPost, "/payment-attempts", byClientToken, false, "", "createPaymentAttempt", startAttempt},
	{http.MethodGet, "/payment-attempts/{id}", byClientToken, false, "", "getPaymentAttempt", getAttempt},
	{http.MethodPost, "/required-actions/complete", byActionToken, false, "", "completeRequiredAction", completeAction},
	{http.MethodGet, "/checkout/configuration", byClientToken, false, "", "getCheckoutConfiguration", getConfiguration},
	{http.MethodPost, "/checkout/payments", byClientToken, false, "", "createCheckoutPayment", payInCheckout},
	{http.MethodGet, "/checkout/payments/{id}", byClientToken, false, "", "getCheckoutPayment", getCheckoutPayment},
	{http.MethodPost, "/checkout/payments/{id}/resume", byClientToken, false, "", "resumeCheckoutPayment", resumeInCheckout},
	{http.MethodGet, checkout.PathPayment, byPage, false, "", "getCheckoutPage", getCheckoutPage},
	{http.MethodGet, checkout.PathChallenge, byPage, false, "", "getChallengePage", getChallengePage},
	{http.MethodGet, checkout.PathAssets + "/{version}/{file}", byPage, false, "", "getCheckoutAsset", getCheckoutAsset},
	{http.MethodPost, "/processors/{name}/notifications", bySignature, false, "", "receiveProcessorNotification", receiveNotification},

	{http.MethodGet, "/management/api-keys", byAPIKey, false, account.ScopeAccountRead, "listApiKeys", listAPIKeys},
	{http.MethodPost, "/management/api-keys", byAPIKey, false, account.ScopeAccountWrite, "createApiKey", createAPIKey},
	{http.MethodDelete, "/management/api-keys/{id}", byAPIKey, false, account.ScopeAccountWrite, "revokeApiKey", revokeAPIKey},
	{http.MethodGet, "/management/webhook-endpoints", byAPIKey, false, account.ScopeAccountRead, "listWebhookEndpoints", listEndpoints},
	{http.MethodPost, "/management/webhook-endpoints", byAPIKey, false, account.ScopeAccountWrite, "createWebhookEndpoint", createEndpoint},
	{http.MethodPatch, "/management/webhook-endpoints/{id}", byAPIKey, false, account.ScopeAccountWrite, "changeWebhookEndpoint", changeEndpoint},
	{http.MethodDelete, "/management/webhook-endpoints/{id}", byAPIKey, false, account.ScopeAccountWrite, "deleteWebhookEndpoint", deleteEndpoint},
	{http.MethodPost, "/management/webhook-endpoints/{id}/test", byAPIKey, false, account.ScopeAccountWrite, "testWebhookEndpoint", testEndpoint},
	{http.MethodGet, "/management/signing-secret", byAPIKey, false, account.ScopeAccountRead, "getSigningSecret", getSigningSecret},
	{http.MethodPost, "/management/signing-secret/rotate", byAPIKey, false, account.ScopeAccountWrite, "rotateSigningSecret", rotateSigningSecret},
	{http.MethodGet, "/management/webhook-deliveries", byAPIKey, false, account.ScopeAccountRead, "listWebhookDeliveries", listDeliveries},
	{http.MethodGet, "/management/webhook-deliveries/{id}", byAPIKey, false, account.ScopeAccountRead, "getWebhookDelivery", getDelivery},
	{http.MethodPost, "/management/webhook-deliveries/{id}/resend", byAPIKey, false, account.ScopeAccountWrite, "resendWebhookDelivery", resendDelivery},
	{http.MethodPost, "/management/webhook-replays", byAPIKey, false, account.ScopeAccountWrite, "createWebhookReplay", createReplay},
	{http.MethodGet, "/management/webhook-replays/{id}", byAPIKey, false, account.ScopeAccountRead, "getWebhookReplay", getReplay},
	{http.MethodGet, "/management/disputes", byAPIKey, false, account.ScopeAccountRead, "listDisputes", listDisputes},
	{http.MethodGet, "/management/disputes/{id}", byAPIKey, false, account.ScopeAccountRead, "getDispute", getDispute},
	{http.MethodGet, "/management/workflows", byAPIKey, false, account.ScopeAccountRead, "listWorkflows", listWorkflows},
	{http.MethodPost, "/management/workflows", byAPIKey, false, account.ScopeAccountWrite, "createWorkflow", createWorkflow},
	{http.MethodPut, "/management/workflows/{id}", byAPIKey, false, account.ScopeAccountWrite, "replaceWorkflow", replaceWorkflow},
	{http.MethodPost, "/management/workflows/{id}/enable", byAPIKey, false, account.ScopeAccountWrite, "enableWorkflow", enableWorkflow},
	{http.MethodPost, "/management/workflows/{id}/disable", byAPIKey, false, account.ScopeAccountWrite, "disableWorkflow", disableWorkflow},
	{http.MethodGet, "/management/workflows/{id}/runs", byAPIKey, false, account.ScopeAccountRead, "listWorkflowRuns", listRuns},
	{http.MethodPost, "/management/workflows/{id}/simulate", byAPIKey, false, account.ScopeAccountWrite, "simulateWorkflow", simulateWorkflow},
	{http.MethodGet, "/management/routing", byAPIKey, false, account.ScopeAccountRead, "getRouting", getRouting},
	{http.MethodPut, "/management/routing", byAPIKey, false, account.ScopeAccountWrite, "replaceRouting", putRouting},
	{http.MethodGet, "/management/processors", byAPIKey, false, account.ScopeAccountRead, "listProcessors", listProcessors},
	{http.MethodPatch, "/management/processors/{name}", byAPIKey, false, account.ScopeAccountWrite, "changeProcessor", changeProcessor},
	{http.MethodGet, "/management/reconciliation", byAPIKey, false, account.ScopeAccountRead, "getReconciliation", getReconciliation},
	{http.MethodGet, "/management/settings", byAPIKey, false, account.ScopeAccountRead, "getSettings", getSettings},
	{http.MethodPatch, "/management/settings", byAPIKey, false, account.ScopeAccountWrite, "changeSettings", changeSettings},

	{http.MethodGet, pathHealth, byNothing, false, "", "getHealth", getHealth},
	{http.MethodGet, pathReady, byNothing, false, "", "getReadiness", getReadiness},
	{http.MethodGet, "/openapi.yaml", byNothing, false, "", "getOpenapi", getOpenAPI},
}
