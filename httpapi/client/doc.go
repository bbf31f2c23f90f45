// Package client is a thin client of the API for programs in Go: one call for every request, errors
// with the API's own words, and streams of server-sent events. The commands of package
// cmd/payledger use it.
//
// # Rules
//
//   - A request is repeated only if that is safe: a read, a request with an idempotency key, and a
//     request that was refused with 429, which was not executed. Repeats wait as long as
//     Retry-After says.
//   - If the answer to a request with an idempotency key was lost, and the repeat is answered with
//     IdempotencyKeyAlreadyExists, the client reads the payment that the answer names. So the
//     caller gets the payment as if the first answer had arrived.
//   - An answer other than 2xx is an *Error. It has the error's id, the id of the request for a
//     support case, and what to do (D3).
//
// The package must not know: the service's parts. It imports the standard library only.
//
// # Why it is not generated
//
// oapi-codegen v2.8.2 makes 52,270 lines (2.1 MB) of Go of openapi.yaml, because each of its
// operations has 14 documented answers, and each answer becomes a field with a decoder. Without the
// error answers it makes 24,491 lines, for types alone 8,548. Fields that may be missing are
// pointers, so that a session takes 20 lines to write, and every caller would check 14 fields for
// an error. The tests of cmd/payledger make clients with two generators and pay with them, so that
// openapi.yaml stays fit for generators. This package has the part that all commands need: 3 types
// of calls and the fields that a command reads.
package client
