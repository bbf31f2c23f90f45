// Package intake bounds the load of the service (D1): connections, requests, and the memory of
// bodies and answers. Load beyond the bounds is refused at once, so that admitted requests are
// answered in a time that does not depend on the refused ones. All bounds come before
// authentication.
//
// Its parts, from the outside in:
//
//   - Listener accepts connections. Connections within the caps (in all, and by client address) go
//     to the server of the API. A few more go to a reserve, whose server answers /healthz and
//     /readyz and refuses everything else. A full reserve closes its oldest connection: a probe
//     sends its request at once, a connection that only occupies the reserve does not. When all
//     connections are taken, a connection makes room that has been idle, or has taken no byte of
//     its answer, for longer than idleGrace.
//   - Each server takes new connections at a bounded pace, the newest first, so that a probe does
//     not wait behind a burst of 2,000 connections.
//   - Repeats bounds the refusals of callers that ignore Retry-After.
//   - A connection's write deadline is renewed as long as its peer takes bytes. A slow reader is
//     served; a reader that takes no byte for the write time-out is cut.
//   - Gate bounds the requests that are processed, and those that wait for a place, in turn by
//     account and of one account first come, first served. A request that waits for a processor,
//     for another operation of its payment, or for its body gives its place to the next request, so
//     that a processor that hangs does not stop the service.
//   - Budget bounds the memory of large bodies and answers while they are read and written.
//   - Clients finds the address that a request's limits count for. It believes a proxy's headers
//     when the peer is a trusted proxy.
//   - Tally counts refusals, by limit.
//
// Design notes. The gate counts requests rather than time in the queue: requests here are alike,
// and a count needs no clock. golang.org/x/net/netutil.LimitListener stops accepting at its limit,
// so a probe would wait behind all others. golang.org/x/sync/semaphore does not bound its waiters,
// and cannot put a request that returns from a wait before new ones.
package intake
