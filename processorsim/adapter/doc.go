// Package adapter is the service's side of the processor protocol over HTTP (D14): it implements
// processor.Port against one base URL, reads the notifications that processors send, and drives the
// simulator's control API for tests and demos.
//
// Rules:
//   - Only an explicit answer that came whole, could be parsed and agrees with itself is a fact (D8).
//     Everything else wraps processor.ErrUnknown and is distinguished no further: 4xx and 5xx, a cut
//     connection, a time-out, an answer that is too large, that cannot be read, or that says SUCCEEDED
//     without a transaction.
//   - A notification is a fact only when its signature is right and its answer would be one.
//     Its body has the fields that the protocol names; the others come apart, as they may tell of a person.
//   - Nothing is sent twice on its own. net/http repeats a request with an Idempotency-Key when a kept
//     connection turns out to be dead; the body is given without a way to rewind it, which prevents that.
//     Whether to send again under the same key is decided by whoever recorded the request.
//   - Redirects are not followed and no proxy is taken from the environment: card data goes to the
//     processor's address and nowhere else. No error text holds a request's body.
//
// What it must not know: the simulator's server; what an answer means for a payment.
package adapter
