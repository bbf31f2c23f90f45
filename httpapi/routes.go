package httpapi

import (
	"net/http"

	"payledger/domain/account"
)

// access says what a caller must bring.
type access int

const (
	byAPIKey      access = iota // X-API-KEY with the route's scope
	byClientToken               // X-Client-Token: the customer's browser (D12)
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

// routes are all calls, with their scopes (D2).
var routes = []route{
	{http.MethodPost, "/client-session", byAPIKey, true, account.ScopeClientTokensWrite, "createClientSession", createSession},
	{http.MethodPost, "/payments", byAPIKey, true, account.ScopeTransactionsAuthorize, "createPayment", createPayment},
	{http.MethodGet, "/payments/{id}", byAPIKey, true, account.ScopeTransactionsRetrieve, "getPayment", getPayment},
	{http.MethodGet, "/payments/{id}/events", byAPIKey, true, account.ScopeTransactionsRetrieve, "getPaymentEvents", getPaymentEvents},

	{http.MethodPost, "/payment-instruments", byClientToken, false, "", "createPaymentInstrument", createInstrument},

	{http.MethodGet, "/management/api-keys", byAPIKey, false, account.ScopeAccountRead, "listApiKeys", listAPIKeys},
	{http.MethodPost, "/management/api-keys", byAPIKey, false, account.ScopeAccountWrite, "createApiKey", createAPIKey},
	{http.MethodGet, "/management/webhook-endpoints", byAPIKey, false, account.ScopeAccountRead, "listWebhookEndpoints", listEndpoints},
	{http.MethodPost, "/management/webhook-endpoints", byAPIKey, false, account.ScopeAccountWrite, "createWebhookEndpoint", createEndpoint},

	{http.MethodGet, "/healthz", byNothing, false, "", "getHealth", getHealth},
	{http.MethodGet, "/readyz", byNothing, false, "", "getReadiness", getReadiness},
	{http.MethodGet, "/openapi.yaml", byNothing, false, "", "getOpenapi", getOpenAPI},
}
