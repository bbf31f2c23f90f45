// Package intake decides what the service takes in when more comes than it can serve (D1): which connections, which
// requests, and how much memory their bodies and answers may hold. Everything beyond is refused at once, so that what was
// taken is answered in a time that does not depend on how many others ask. All of it comes before authentication.
//
// Its parts, from the outside in:
//
//   - Listener accepts connections. Those within the caps (in all, and by client address) go to the server of the API. A few
//     more go to a reserve, whose server answers /healthz and /readyz and refuses everything else. When the reserve is full its
//     oldest connection is closed: a probe sends its request at once, a connection that fills the reserve does not. When all
//     connections are taken, one that has been idle, or has taken no byte of its answer, for longer than idleGrace makes room.
//   - Each server takes new connections at a bounded pace, the newest first. A probe that comes after a burst of 2,000
//     connections does not wait behind them.
//   - Repeats bounds the refusals of callers that ignore Retry-After.
//   - A connection's write deadline is renewed as long as its peer takes bytes. A reader may be slow; one that takes nothing
//     for the write time-out is cut.
//   - Gate bounds the requests that are worked on, and those that wait for a place, first come, first served. A request
//     that waits for somebody else (a processor, another operation of its payment, a body that is on its way) gives its
//     place to the next one: a processor that hangs must not stop the service.
//   - Budget bounds the memory of large bodies and answers while they are read and written.
//   - Clients finds the address that a request's limits count for. Headers of a proxy are believed when the peer is one.
//   - Tally counts what was refused, by limit.
//
// Design notes. A gate in terms of requests, rather than of time in the queue: requests are alike here, and a
// count needs no clock. golang.org/x/net/netutil.LimitListener was not taken: it stops accepting at its limit, and a
// probe would wait behind all others. golang.org/x/sync/semaphore was not taken: it has no bound on who waits, and no way
// for a request that comes back from a wait to go before new ones.
package intake
