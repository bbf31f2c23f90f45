// Package bench loads a running server and measures it (I1): throughput, latencies and the server's
// CPU time, beside what the machine itself can do in the same run.
//
// A run has rounds. In each round the load goes to the server for a few seconds, then, with
// --yardstick, the same load to another service, and then the machine's ceilings are measured:
// round trips, fsyncs and durable publishes of the size of an event. If the machine is slower for a
// while, all of them are. The two services change places from round to round. Every figure is a sum
// or a percentile over all rounds. Each round has its own connections; before the first round there
// is a second of load that does not count.
//
// The scenarios:
//
//   - authorize: a create with a vaulted token (§4 rule 3).
//   - lifecycle: a session, a card, a payment, a capture and a refund; every call is a request.
//   - read: GET of one of 512 payments.
//   - webhooks: a create, until its webhook has arrived here. A round lasts to its last webhook.
//     The run makes a webhook endpoint, and deletes it at its end.
//   - replay: all events of the account, in pages of 1,000, by every connection. eventsPerSecond
//     are the events that were read.
//
// With --peers the connections are dealt out over several API nodes of one cluster. --admin-url is
// then one of them; --processes counts the CPU time of all, and of other processes of this machine,
// from /proc (Linux). --without-ceilings measures the services only.
//
// A connection waits for its answer before it sends the next request. With --rate the requests are
// due at even times instead. A request that is due while all connections wait for answers starts
// later, and its latency counts from the time at which it was due.
//
// A request fails if its answer has another status, or its connection breaks; then the connection
// sends nothing more in that round. The report counts failures apart: rates and latencies are of
// the requests that succeeded. An interrupted run has no report.
//
// The load generator writes requests as bytes and reads only what it needs, because it shares the
// machine with the server. The calls before and after the load use package client.
package bench
