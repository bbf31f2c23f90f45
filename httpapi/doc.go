// Package httpapi is the HTTP interface of payledger: it serves the merchant's calls, those of the
// customer's browser and the management's (§4, D1–D6, D10, D12, D20), and receives the processors'
// notifications (D14.3).
//
// One request passes the guards in an order that is part of the contract (D3): authentication,
// version, scope, path, JSON, validation. Then its handler decodes, executes and responds.
// routes.go lists every call with its scope. openapi.yaml is the published reference, and requests
// are validated with it, so the two cannot differ. CONTRACT.md has the rules that the § and D
// numbers in code and tests point at.
//
// This package admits, guards and answers requests; the packages below it serve them:
//
//	httpapi ──► payments, management, webhooks, workflows, events, live ──► request ──► validation, clienttoken
//	        ──► checkout (pages), dashboard, proofpage, docs (documentation), intake (bounds), keyuse, nearmiss
//
// Errors: handlers return them. errors.go maps a domain.Error to its status by its reason (D3); any
// other error is an InternalError, and only the log has its cause. suggestions.go has the recovery
// of each. Each request writes one log line, without body, headers and query.
//
// The package must not know: how events are stored, how a processor is reached, how a webhook is
// sent.
//
// Design notes:
//   - A path matches with and without a trailing slash, because the slash is removed before
//     matching: a redirect would turn a POST into a GET (D1). At the end of a customer's id, which
//     may have slashes, the slash belongs to the id. An unknown path is guarded like a
//     merchant's call, so that only a valid key learns which paths exist; a known path with another
//     method is guarded like the path's own calls.
//   - A processor's notification is not validated with openapi.yaml: its fields are those of the
//     processor's protocol, and processors add some. Its handler checks the signature, which covers
//     the body (D14.4).
package httpapi
