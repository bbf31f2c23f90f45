// Package live serves the calls of developers' tools that stay open: webhook listeners, whose
// webhooks a program reads as a stream (package notifier/listener is behind them), and the
// account's requests as they come (D20).
//
// Rules:
//   - A listener is an endpoint of the account. Every call on a listener needs settings:write, the
//     stream too: its reader takes the webhooks, and the reader's answers are recorded.
//   - The list of requests has the newest ones of all nodes: each node asks the others for at most
//     1 MiB, and the answer has the number of nodes that were silent. The stream of requests shows
//     the requests that this node answered. Both show the caller's account only, and never slow a
//     request: what a slow reader does not take is dropped and counted.
//
// The package must not know: how an answer is written, how a webhook is composed and signed.
package live
