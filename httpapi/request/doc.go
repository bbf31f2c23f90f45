// Package request is a request as its handler sees it: authenticated, validated, without the connection that it came on.
//
// Rules:
//   - A handler decodes, executes and responds. It returns its answer as a value: a struct is written as JSON,
//     [Accepted] as 202, [Stream] and [Listing] while they are made.
//   - An idempotency key is one header of visible ASCII (D9). A misspelled one is refused, because the caller relies on it (D3).
//   - Lists are cut by limit and cursor (D20). A cursor is good for one list of one account under one filter (D11).
//
// What it must not know: routes, authentication, how an answer is written, what a command does.
package request
