// Package request defines a request as handlers see it: authenticated, validated, and without its
// connection.
//
// Rules:
//   - A handler decodes, executes and responds. It returns its answer as a value: a struct, which
//     is written as JSON; [Accepted], which has the status 202; or [Stream], [Listing], [Text] and
//     [Feed], which are written while the handler produces them.
//   - An idempotency key is one header of visible ASCII. A misspelled header is refused, because
//     its sender relies on the key (D9).
//   - limit and cursor divide a list into pages (D20). A cursor is valid for one list of one
//     account with one filter (D11).
//
// The package must not know: routes, authentication, how an answer is written, what a command does.
package request
