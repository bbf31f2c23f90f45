// Package live serves the calls of developers' tools that stay open: webhook listeners, whose
// webhooks a program reads as a stream (package notifier/listener is behind them), and the
// account's requests as they come (D20).
//
// Rules:
//   - A listener is an endpoint of the account. Every call on a listener needs settings:write, the
//     stream too: its reader takes the webhooks, and the reader's answers are recorded.
//   - The stream of requests shows the requests that this node answered, of the caller's account
//     only. It never slows a request: what a slow reader does not take is dropped and counted.
//
// The package must not know: how an answer is written, how a webhook is composed and signed.
package live
