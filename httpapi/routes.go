package httpapi

import (
	"net/http"

	"payledger/domain/account"
	"payledger/httpapi/checkout"
	"payledger/httpapi/docs"
	"payledger/httpapi/proofpage"
	"payledger/httpapi/request"
)

type access int

const (
	byAPIKey      access = iota // X-API-KEY with the route's scope
	byClientToken               // X-Client-Token: the customer's browser (D12)
	byActionToken               // X-Client-Token of a required action: the customer's browser (D12)
	bySignature                 // signed by a processor; its handler checks (D14.4)
	byPage                      // none: a page, or a file that a page loads; failures are pages, too (D12)
	byNothing                   // none: probes and documents
)

// route is one call. operation is its operationId in openapi.yaml, whose schemas validate the
// request.
type route struct {
	method, path string
	access       access
	versioned    bool // needs X-API-VERSION (D1: checkout and management do not)
	scope        string
	operation    string
	handle       func(*call) (any, error)
}

// with returns the handler of a route for a handler of one of the packages below.
func with(handle func(*request.Call) (any, error)) func(*call) (any, error) {
	return func(c *call) (any, error) { return handle(&c.Call) }
}

func withBody[T any](handle func(*request.Call, T) (any, error)) func(*call) (any, error) {
	return with(request.WithBody(handle))
}

// The paths of probes (I1).
const pathHealth, pathReady = "/healthz", "/readyz"

func (a *API) routeTable() []route { //house:exempt a table: one line for each call
	return []route{
		{http.MethodPost, "/client-session", byAPIKey, true, account.ScopeClientTokensWrite, "createClientSession", withBody(a.payments.CreateSession)},
		{http.MethodGet, "/client-session", byAPIKey, true, account.ScopeClientTokensWrite, "getClientSession", with(a.payments.GetSession)},
		{http.MethodPatch, "/client-session", byAPIKey, true, account.ScopeClientTokensWrite, "changeClientSession", withBody(a.payments.ChangeSession)},
		{http.MethodPost, "/payments", byAPIKey, true, account.ScopeTransactionsAuthorize, "createPayment", withBody(a.payments.CreatePayment)},
		{http.MethodGet, "/payments", byAPIKey, true, account.ScopeTransactionsRetrieve, "listPayments", with(a.payments.ListPayments)},
		{http.MethodGet, "/payments/{id}", byAPIKey, true, account.ScopeTransactionsRetrieve, "getPayment", with(a.payments.GetPayment)},
		{http.MethodGet, "/payments/{id}/events", byAPIKey, true, account.ScopeTransactionsRetrieve, "getPaymentEvents", with(a.payments.GetPaymentEvents)},
		{http.MethodGet, "/payments/{id}/proof", byAPIKey, true, account.ScopeTransactionsRetrieve, "getPaymentProof", with(a.payments.GetPaymentProof)},
		{http.MethodPost, "/payments/{id}/resume", byAPIKey, true, account.ScopeTransactionsAuthorize, "resumePayment", withBody(a.payments.ResumePayment)},
		{http.MethodPost, "/payments/{id}/cancel", byAPIKey, true, account.ScopeTransactionsCancel, "cancelPayment", withBody(a.payments.CancelPayment)},
		{http.MethodPost, "/payments/{id}/capture", byAPIKey, true, account.ScopeTransactionsCapture, "capturePayment", withBody(a.payments.CapturePayment)},
		{http.MethodPost, "/payments/{id}/refund", byAPIKey, true, account.ScopeTransactionsRefund, "refundPayment", withBody(a.payments.RefundPayment)},
		{http.MethodPost, "/payments/{id}/adjust-authorization", byAPIKey, true, account.ScopeTransactionsAuthorize, "adjustPaymentAuthorization", withBody(a.payments.AdjustPayment)},

		{http.MethodGet, "/events", byAPIKey, true, account.ScopeEventsRead, "listEvents", with(a.events.ListEvents)},
		{http.MethodGet, "/events/stream", byAPIKey, true, account.ScopeEventsRead, "streamEvents", with(a.events.StreamEvents)},
		{http.MethodGet, "/webhook-deliveries", byAPIKey, true, account.ScopeEventsRead, "listDeliveryRecords", with(a.webhooks.ListRecords)},

		{http.MethodGet, "/payment-instruments", byAPIKey, true, account.ScopePaymentInstrumentRead, "listPaymentInstruments", with(a.payments.ListInstruments)},
		{http.MethodPost, "/payment-instruments/{token}/vault", byAPIKey, true, account.ScopePaymentInstrumentWrite, "vaultPaymentInstrument", withBody(a.payments.VaultInstrument)},
		{http.MethodPost, "/payment-instruments/{token}/default", byAPIKey, true, account.ScopePaymentInstrumentWrite, "makePaymentInstrumentDefault", with(a.payments.MakeDefault)},
		{http.MethodDelete, "/payment-instruments/{token}", byAPIKey, true, account.ScopePaymentInstrumentWrite, "deletePaymentInstrument", with(a.payments.DeleteInstrument)},
		{http.MethodPost, "/payment-attempts/{id}/approve", byAPIKey, true, account.ScopeTransactionsAuthorize, "approvePaymentAttempt", with(a.payments.ApproveAttempt)},
		{http.MethodPost, "/payment-attempts/{id}/abort", byAPIKey, true, account.ScopeTransactionsAuthorize, "abortPaymentAttempt", withBody(a.payments.AbortAttempt)},

		{http.MethodPost, "/payment-instruments", byClientToken, false, "", "createPaymentInstrument", withBody(a.payments.CreateInstrument)},
		{http.MethodPost, "/payment-attempts", byClientToken, false, "", "createPaymentAttempt", withBody(a.payments.StartAttempt)},
		{http.MethodGet, "/payment-attempts/{id}", byClientToken, false, "", "getPaymentAttempt", with(a.payments.GetAttempt)},
		{http.MethodPost, "/required-actions/complete", byActionToken, false, "", "completeRequiredAction", withBody(a.payments.CompleteAction)},
		{http.MethodGet, "/checkout/configuration", byClientToken, false, "", "getCheckoutConfiguration", with(a.payments.GetConfiguration)},
		{http.MethodPost, "/checkout/payments", byClientToken, false, "", "createCheckoutPayment", withBody(a.payments.PayInCheckout)},
		{http.MethodGet, "/checkout/payments/{id}", byClientToken, false, "", "getCheckoutPayment", with(a.payments.GetCheckoutPayment)},
		{http.MethodPost, "/checkout/payments/{id}/resume", byClientToken, false, "", "resumeCheckoutPayment", withBody(a.payments.ResumeInCheckout)},
		{http.MethodGet, checkout.PathPayment, byPage, false, "", "getCheckoutPage", getCheckoutPage},
		{http.MethodGet, checkout.PathChallenge, byPage, false, "", "getChallengePage", getChallengePage},
		{http.MethodGet, checkout.PathReturn, byPage, false, "", "getReturnPage", getReturnPage},
		{http.MethodGet, checkout.PathScript, byPage, false, "", "getCheckoutScript", getCheckoutScript},
		{http.MethodGet, checkout.PathLogos + "/{account}/{file}", byPage, false, "", "getCheckoutLogo", getCheckoutLogo},
		{http.MethodGet, checkout.PathAssets + "/{version}/{file}", byPage, false, "", "getCheckoutAsset", getCheckoutAsset},
		{http.MethodPost, "/processors/{name}/notifications", bySignature, false, "", "receiveProcessorNotification", receiveNotification},

		{http.MethodGet, "/management/api-keys", byAPIKey, false, account.ScopeAccountRead, "listApiKeys", with(a.management.ListAPIKeys)},
		{http.MethodPost, "/management/api-keys", byAPIKey, false, account.ScopeKeysWrite, "createApiKey", withBody(a.management.CreateAPIKey)},
		{http.MethodDelete, "/management/api-keys/{id}", byAPIKey, false, account.ScopeKeysWrite, "revokeApiKey", with(a.management.RevokeAPIKey)},
		{http.MethodGet, "/management/users", byAPIKey, false, account.ScopeAccountRead, "listUsers", with(a.management.ListUsers)},
		{http.MethodPost, "/management/users", byAPIKey, false, account.ScopeUsersWrite, "createUser", withBody(a.management.CreateUser)},
		{http.MethodPatch, "/management/users/{id}", byAPIKey, false, account.ScopeUsersWrite, "changeUser", withBody(a.management.ChangeUser)},
		{http.MethodDelete, "/management/users/{id}", byAPIKey, false, account.ScopeUsersWrite, "removeUser", with(a.management.RemoveUser)},
		{http.MethodGet, "/management/webhook-endpoints", byAPIKey, false, account.ScopeAccountRead, "listWebhookEndpoints", with(a.management.ListEndpoints)},
		{http.MethodPost, "/management/webhook-endpoints", byAPIKey, false, account.ScopeSettingsWrite, "createWebhookEndpoint", withBody(a.management.CreateEndpoint)},
		{http.MethodPatch, "/management/webhook-endpoints/{id}", byAPIKey, false, account.ScopeSettingsWrite, "changeWebhookEndpoint", withBody(a.management.ChangeEndpoint)},
		{http.MethodDelete, "/management/webhook-endpoints/{id}", byAPIKey, false, account.ScopeSettingsWrite, "deleteWebhookEndpoint", with(a.management.DeleteEndpoint)},
		{http.MethodPost, "/management/webhook-endpoints/{id}/test", byAPIKey, false, account.ScopeSettingsWrite, "testWebhookEndpoint", with(a.management.TestEndpoint)},
		{http.MethodPost, "/management/webhook-listeners", byAPIKey, false, account.ScopeSettingsWrite, "createWebhookListener", withBody(a.live.CreateListener)},
		{http.MethodDelete, "/management/webhook-listeners/{id}", byAPIKey, false, account.ScopeSettingsWrite, "deleteWebhookListener", with(a.live.DeleteListener)},
		{http.MethodGet, "/management/webhook-listeners/{id}/stream", byAPIKey, false, account.ScopeSettingsWrite, "streamWebhookListener", with(a.live.StreamListener)},
		{http.MethodPost, "/management/webhook-listeners/{id}/answers", byAPIKey, false, account.ScopeSettingsWrite, "answerWebhookListener", withBody(a.live.AnswerListener)},
		{http.MethodGet, "/management/request-log/stream", byAPIKey, false, account.ScopeAccountRead, "streamRequestLog", with(a.live.StreamRequests)},
		{http.MethodGet, "/management/request-log", byAPIKey, false, account.ScopeAccountRead, "listRequestLog", with(a.live.ListRequests)},
		{http.MethodGet, "/management/signing-secret", byAPIKey, false, account.ScopeAccountRead, "getSigningSecret", with(a.management.GetSigningSecret)},
		{http.MethodPost, "/management/signing-secret/rotate", byAPIKey, false, account.ScopeKeysWrite, "rotateSigningSecret", with(a.management.RotateSigningSecret)},
		{http.MethodGet, "/management/webhook-deliveries", byAPIKey, false, account.ScopeAccountRead, "listWebhookDeliveries", with(a.webhooks.ListDeliveries)},
		{http.MethodGet, "/management/webhook-deliveries/{id}", byAPIKey, false, account.ScopeAccountRead, "getWebhookDelivery", with(a.webhooks.GetDelivery)},
		{http.MethodPost, "/management/webhook-deliveries/{id}/resend", byAPIKey, false, account.ScopeSettingsWrite, "resendWebhookDelivery", with(a.webhooks.ResendDelivery)},
		{http.MethodPost, "/management/webhook-replays", byAPIKey, false, account.ScopeSettingsWrite, "createWebhookReplay", withBody(a.webhooks.CreateReplay)},
		{http.MethodGet, "/management/webhook-replays/{id}", byAPIKey, false, account.ScopeAccountRead, "getWebhookReplay", with(a.webhooks.GetReplay)},
		{http.MethodGet, "/management/customers", byAPIKey, false, account.ScopeAccountRead, "listCustomers", with(a.management.ListCustomers)},
		{http.MethodGet, "/management/customers/{customerId}", byAPIKey, false, account.ScopeAccountRead, "getCustomer", with(a.management.GetCustomer)},
		{http.MethodPost, "/management/customers/{customerId}/erase", byAPIKey, false, account.ScopeAccountWrite, "eraseCustomer", with(a.management.EraseCustomer)},
		{http.MethodPost, "/management/payments/{id}/erase", byAPIKey, false, account.ScopeAccountWrite, "eraseGuest", with(a.management.EraseGuest)},
		{http.MethodGet, "/management/payments", byAPIKey, false, account.ScopeAccountRead, "listManagedPayments", with(a.payments.ListPayments)},
		{http.MethodGet, "/management/payment-attempts", byAPIKey, false, account.ScopeAccountRead, "listPaymentAttempts", with(a.payments.ListAttempts)},
		{http.MethodGet, "/management/payment-attempts/{id}", byAPIKey, false, account.ScopeAccountRead, "getManagedPaymentAttempt", with(a.payments.GetManagedAttempt)},
		{http.MethodGet, "/management/payments/{id}", byAPIKey, false, account.ScopeAccountRead, "getManagedPayment", with(a.payments.GetPayment)},
		{http.MethodGet, "/management/payments/{id}/events", byAPIKey, false, account.ScopeAccountRead, "getManagedPaymentEvents", with(a.payments.GetManagedPaymentEvents)},
		{http.MethodGet, "/management/payments/{id}/proof", byAPIKey, false, account.ScopeAccountRead, "getManagedPaymentProof", with(a.payments.GetPaymentProof)},
		{http.MethodPost, "/management/payments/{id}/cancel", byAPIKey, false, account.ScopeAccountWrite, "cancelManagedPayment", withBody(a.payments.CancelPayment)},
		{http.MethodPost, "/management/payments/{id}/capture", byAPIKey, false, account.ScopeAccountWrite, "captureManagedPayment", withBody(a.payments.CapturePayment)},
		{http.MethodPost, "/management/payments/{id}/refund", byAPIKey, false, account.ScopeAccountWrite, "refundManagedPayment", withBody(a.payments.RefundPayment)},
		{http.MethodGet, "/management/payment-totals", byAPIKey, false, account.ScopeAccountRead, "getPaymentTotals", with(a.payments.GetTotals)},
		{http.MethodGet, "/management/statistics", byAPIKey, false, account.ScopeAccountRead, "getStatistics", with(a.management.GetStatistics)},
		{http.MethodGet, "/management/search", byAPIKey, false, account.ScopeAccountRead, "search", with(a.management.Search)},
		{http.MethodGet, "/management/audit-log", byAPIKey, false, account.ScopeAccountRead, "listAuditLog", with(a.management.ListAuditLog)},
		{http.MethodGet, "/management/disputes", byAPIKey, false, account.ScopeAccountRead, "listDisputes", with(a.management.ListDisputes)},
		{http.MethodGet, "/management/disputes/{id}", byAPIKey, false, account.ScopeAccountRead, "getDispute", with(a.management.GetDispute)},
		{http.MethodGet, "/management/workflows", byAPIKey, false, account.ScopeAccountRead, "listWorkflows", with(a.workflows.ListWorkflows)},
		{http.MethodPost, "/management/workflows", byAPIKey, false, account.ScopeSettingsWrite, "createWorkflow", withBody(a.workflows.CreateWorkflow)},
		{http.MethodPost, "/management/workflows/check", byAPIKey, false, account.ScopeAccountRead, "checkWorkflowCondition", withBody(a.workflows.CheckCondition)},
		{http.MethodPost, "/management/workflows/simulate", byAPIKey, false, account.ScopeSettingsWrite, "simulateNewWorkflow", withBody(a.workflows.SimulateDraft)},
		{http.MethodGet, "/management/workflows/{id}", byAPIKey, false, account.ScopeAccountRead, "getWorkflow", with(a.workflows.GetWorkflow)},
		{http.MethodGet, "/management/workflows/{id}/versions", byAPIKey, false, account.ScopeAccountRead, "listWorkflowVersions", with(a.workflows.ListVersions)},
		{http.MethodPut, "/management/workflows/{id}", byAPIKey, false, account.ScopeSettingsWrite, "replaceWorkflow", withBody(a.workflows.ReplaceWorkflow)},
		{http.MethodPost, "/management/workflows/{id}/enable", byAPIKey, false, account.ScopeSettingsWrite, "enableWorkflow", with(a.workflows.EnableWorkflow)},
		{http.MethodPost, "/management/workflows/{id}/disable", byAPIKey, false, account.ScopeSettingsWrite, "disableWorkflow", with(a.workflows.DisableWorkflow)},
		{http.MethodGet, "/management/workflows/{id}/runs", byAPIKey, false, account.ScopeAccountRead, "listWorkflowRuns", with(a.workflows.ListRuns)},
		{http.MethodPost, "/management/workflows/{id}/simulate", byAPIKey, false, account.ScopeSettingsWrite, "simulateWorkflow", withBody(a.workflows.SimulateWorkflow)},
		{http.MethodGet, "/management/routing", byAPIKey, false, account.ScopeAccountRead, "getRouting", with(a.management.GetRouting)},
		{http.MethodPut, "/management/routing", byAPIKey, false, account.ScopeSettingsWrite, "replaceRouting", withBody(a.management.PutRouting)},
		{http.MethodPost, "/management/routing/preview", byAPIKey, false, account.ScopeAccountRead, "previewRouting", withBody(a.management.PreviewRouting)},
		{http.MethodGet, "/management/processors", byAPIKey, false, account.ScopeAccountRead, "listProcessors", with(a.management.ListProcessors)},
		{http.MethodPatch, "/management/processors/{name}", byAPIKey, false, account.ScopeSettingsWrite, "changeProcessor", withBody(a.management.ChangeProcessor)},
		{http.MethodGet, "/management/reconciliation", byAPIKey, false, account.ScopeAccountRead, "getReconciliation", with(a.management.GetReconciliation)},
		{http.MethodGet, "/management/reconciliation-runs", byAPIKey, false, account.ScopeAccountRead, "listReconciliationRuns", with(a.management.ListReconciliations)},
		{http.MethodPost, "/management/reconciliation-runs", byAPIKey, false, account.ScopeAccountRead, "startReconciliationRun", withBody(a.management.StartReconciliation)},
		{http.MethodGet, "/management/reconciliation-runs/{id}", byAPIKey, false, account.ScopeAccountRead, "getReconciliationRun", with(a.management.GetReconciliationRun)},
		{http.MethodGet, "/management/settings", byAPIKey, false, account.ScopeAccountRead, "getSettings", with(a.management.GetSettings)},
		{http.MethodPatch, "/management/settings", byAPIKey, false, account.ScopeSettingsWrite, "changeSettings", withBody(a.management.ChangeSettings)},

		{http.MethodGet, "/checkpoints", byAPIKey, true, account.ScopeEventsRead, "listCheckpoints", with(a.payments.ListCheckpoints)},
		{http.MethodGet, "/verifier-key", byNothing, false, "", "getVerifierKey", with(a.payments.GetVerifierKey)},
		{http.MethodGet, proofpage.Path, byNothing, false, "", "getProofPage", getProofPage},
		{http.MethodGet, proofpage.Path + "/assets/{file}", byNothing, false, "", "getProofAsset", getProofAsset},
		{http.MethodGet, pathHealth, byNothing, false, "", "getHealth", getHealth},
		{http.MethodGet, pathReady, byNothing, false, "", "getReadiness", getReadiness},
		{http.MethodGet, "/openapi.yaml", byNothing, false, "", "getOpenapi", getOpenAPI},
		{http.MethodGet, "/asyncapi.yaml", byNothing, false, "", "getAsyncapi", getAsyncAPI},
		{http.MethodGet, docs.Path, byNothing, false, "", "getDocs", getDocs},
		{http.MethodGet, docs.Postman, byNothing, false, "", "getPostmanCollection", getDocs},
		{http.MethodGet, docs.Path + "/{page}", byNothing, false, "", "getDocsPage", getDocs},
		{http.MethodGet, docs.Path + "/{folder}/{page}", byNothing, false, "", "getDocsEntry", getDocs},
		{http.MethodGet, docs.Path + "/assets/{version}/{file}", byNothing, false, "", "getDocsAsset", getDocs},
	}
}
