// Package bench loads a running server and measures it (I1): throughput, latencies and the server's CPU time, beside what the
// machine itself can do in the same run.
//
// A run has rounds. In each round the load goes to the server for a few seconds, then, with --yardstick, the same load to another
// service, and then the machine's ceilings are measured: round trips, fsyncs and durable publishes of the size of a group. A
// machine that is slower for a while is so for all of them. Every figure is a sum or a percentile over all rounds.
//
// The scenarios:
//
//   - authorize: a create with a vaulted token (§4 rule 3).
//   - lifecycle: a session, a card, a payment, a capture and a refund; every call is a request.
//   - read: GET of one of some hundred payments.
//   - webhooks: a create, until its webhook has arrived here with a signature of the right length. The rate counts to the last webhook.
//   - replay: all events of the account, in pages of 1,000, by every connection.
//
// A connection waits for its answer before it sends the next request. With --rate the requests start at even times instead, whether or
// not earlier ones were answered, and a latency counts from the time at which the request should have begun.
//
// The load generator writes requests as bytes and reads only what it needs, because it shares the machine with the server.
package bench
