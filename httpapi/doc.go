// Package httpapi is the HTTP interface of payledger: the merchant's calls, the checkout's and the
// management's (§4, D1–D6, D12, D20).
//
// One request passes the guards in an order that is part of the contract (D3): authentication, version,
// scope, path, JSON, body validation; then its handler decodes, executes and responds. routes.go shows
// every call with its scope. openapi.yaml is the reference that is published and the schema that requests
// are held to: the two cannot drift. CONTRACT.md holds the rules that the § and D numbers in code and
// tests point at.
//
// Errors: handlers return them; errors.go maps a domain.Error to its status by its reason (D3), everything
// else is InternalError and only logged. One log line per request, without bodies, headers or queries.
//
// What it must not know: how events are stored, how a processor is reached, how a webhook is sent.
//
// Design notes:
//   - Request bodies are validated by kin-openapi against openapi.yaml in one pass that collects every
//     violation, then by the few rules that a schema cannot say (rules.go), then decoded. The words of a
//     violation are ours and never repeat the value.
//   - A path matches with and without a trailing slash by matching it without: a redirect would turn a POST
//     into a GET (D1).
package httpapi
