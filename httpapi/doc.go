// Package httpapi is the HTTP interface of payledger: the merchant's calls, the checkout's and the
// management's (§4, D1–D6, D10, D12, D20), and where processors notify (D14).
//
// One request passes the guards in an order that is part of the contract (D3): authentication, version,
// scope, path, JSON, validation; then its handler decodes, executes and responds. routes.go shows every call
// with its scope. openapi.yaml is the reference that is published and the schema that requests are held to:
// the two cannot drift. CONTRACT.md holds the rules that the § and D numbers in code and tests point at.
//
// Errors: handlers return them; errors.go maps a domain.Error to its status by its reason (D3), everything
// else is InternalError and only logged. suggestions.go says what a caller can do about each. One log line per request, without
// bodies, headers or queries.
//
// What it must not know: how events are stored, how a processor is reached, how a webhook is sent.
//
// Design notes:
//   - A body is parsed once, by a parser of our own: encoding/json's token stream took 30 µs for a payment
//     with everything in it (this one 7 µs), lets half a surrogate pair through, and does not say where a
//     number was written with a fraction.
//   - kin-openapi then holds the tree to the schema and collects every violation; rules.go adds what a schema
//     cannot say. The words of a violation are ours and never repeat the value: it may be a card number.
//   - The schema sees float64s. A whole number within the limits is exact there; any other is made to look
//     like what it is, a fraction or too large (number.go), so nothing is rounded into validity. What is
//     whole but written 1.0 or 1e3 is decoded as 1 and 1000.
//   - From reading to the decoded request: 9 µs for four fields, 44 to 53 µs for a payment with everything
//     (BenchmarkAccept, two busy cores).
//   - A path matches with and without a trailing slash by matching it without: a redirect would turn a POST
//     into a GET (D1). An unknown path is guarded like a merchant's call, so that without a key nobody learns
//     which paths there are; a known path with another method like the path's own calls.
//   - A client token carries its account, so that the browser's calls need no look-up; an access token alone
//     is looked up, and its expiry with it (D12).
//   - A required action's client token and its resume token are made from the payment's state alone, so that
//     nothing is stored for them and a payment reads the same twice (D6). Intent and audience keep the three
//     kinds of token apart; none is good for another's call.
//   - A processor's notification is not held to openapi.yaml: its fields are its protocol's, and processors
//     add some. Its signature is checked by its handler, since it covers the body (D14).
package httpapi
