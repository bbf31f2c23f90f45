// Package listener hands webhooks to programs that read them from the API as a stream, instead of
// being called (D18, D20). Developers receive webhooks on their own machine by it: `payledger
// listen` reads the stream and calls the program there.
//
// # How it works
//
//	lane ──► attempt ──► Hub.Send ──► Stream ──► server-sent events ──► payledger listen ──► the program
//	                        ▲                                                  │
//	                        └────────── Hub.Answer ◄── POST …/answers ◄────────┘
//
// A listener is a webhook endpoint of the account whose URL is account.ListenerURL. So the planner
// plans its deliveries, its lane sends them on the usual schedule, the delivery log has every
// attempt, and a person or a replay sends any of them again. Only the last step differs: the sender
// hands the signed request to the hub, and the answer that the reader sends is the outcome.
//
// # Rules
//
//   - No connection leaves the service: the reader connects to the API. The guard of webhooks
//     (package guard) refuses the URL of a listener like any other that is not http, so no caller
//     of the API makes an endpoint a listener, or a listener an endpoint.
//   - A listener has one reader at a time: the newest. A reader that comes back after a break takes
//     the place of its old connection.
//   - Without a reader an attempt fails at once as UNREACHABLE, and is retried like any other. A
//     stream that ends before the answer is CONNECTION_LOST, and no answer within the time of an
//     attempt is TIMEOUT.
//   - A listener that has no reader for a minute is deleted (Sweeper). Deliveries that wait for it
//     are then CANCELLED.
//   - A request is signed by the account's signing secrets, as for any endpoint, and in
//     X-Signature-Listener by the listener's own secret. X-Signature-Secondary has the signature of
//     the previous signing secret for 24 hours after a rotation (§5.2 rule 3), else that of the own
//     secret, too. So a program needs one secret: the account's, or the own one, for which it reads
//     X-Signature-Listener during a rotation. The account's secret is not shown again. The own
//     secret is derived from the master key and the endpoint's id: nothing is stored, and nothing
//     remains after the listener. A new master key changes it: listen again then.
//   - The last check of a message (sender.Message.Fresh) stands immediately before the first byte
//     of its event in the stream, or before the message to the node with the stream, which writes
//     it within half a second or not at all.
//
// # Several nodes
//
// The node that sends a delivery need not be the node that holds the stream, and a proxy may bring
// an answer to a third one. The node with the stream subscribes to the listener's topic (package
// nodes). The others send it requests, answers, and the question whether anybody reads. These
// messages are sealed (AES-256-GCM) with a key that is derived from the master key, because
// requests hold personal data, which is nowhere else in NATS in plain. The messages are not stored.
// If one is lost, the attempt fails and is retried. A node with an older build does not know
// listeners: it refuses their URL, so its attempts fail and are retried.
//
// # Design notes
//
// The alternative was a listener in memory only. It would have needed a planner, a schedule and a
// log of its own for what the account's endpoints have, and its webhooks could not be found or sent
// again later. Two events in the account's log for each listener are cheap, and an auditor sees who
// listened.
//
// The package must not know: HTTP handlers, events, how a message is composed.
package listener
