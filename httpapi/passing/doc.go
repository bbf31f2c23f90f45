// Package passing lets a node without views pass requests on to a node that has them (serve --role
// api, D11).
//
//	client ──► api node ── Door: needs the call views? ──no──► its own API
//	                          │ yes
//	                          ▼ one call (package nodes) over the NATS servers
//	                       a node with views: Server ──► its own API ──► the answer in pieces, the same way back
//
// # Rules
//
//   - local lists the calls that a node without views answers itself: the commands on payments,
//     sessions, cards and attempts, single reads of the newest state, feeds of events, and
//     documents. Everything else is passed on, also a path that does not exist: a new call works
//     before anybody thought of it.
//   - The request goes unchanged: method, target, host, headers with the caller's credential, body,
//     and whether it came over TLS. The node with views runs every guard itself, as for a request
//     of its own: credential, scope, rate limit, validation. It trusts nothing that the caller
//     wrote.
//   - The address of the connection travels beside the request, so the client's address counts by
//     the receiving node's --trusted-proxies as if the request had come to it. Only nodes can
//     publish on the NATS servers' account.
//   - The request id is given by the first node. The answer, and the log lines of both nodes, have
//     it. The first node counts only what it answers itself.
//   - Headers and targets may have any bytes, and arrive with them (wire.go).
//   - A list shows everything that the first node knows to be durable: the request has the newest
//     addresses that it knows (Seen), and the other node waits until its views show them. The age
//     of a list (Payledger-Lag) is that of the node with views, which measures it after the request
//     came.
//   - One hop only: Server hands a request to the API and not to a Door, and a node without views
//     has no Server.
//   - A node that takes no call within two seconds is passed over. It does nothing on account of
//     the request (nodes.ErrNotTaken), so the next node gets any request, a command too. If no node
//     takes it: 503 with Retry-After, and nothing was recorded.
//   - If an answer breaks off before its first byte, a read is 503; a command is 503, and the text
//     says that its outcome is unknown. If it breaks off later, the connection to the client is
//     cut, as on any node.
//   - A body that the client did not send whole is not whole at the other node either: half of a
//     form could look like a whole one.
//   - At most maxPassed requests are under way, a quarter of them for one client address: the
//     credential is not known here. Further ones are refused, so that slow lists take no memory
//     from commands, and one client does not keep others out. Bodies have the share of their
//     client's address of the memory for bodies until another node has them.
//   - The 503s of this package are pages where the call has pages (Refuse).
//
// # Why over NATS and not over HTTP
//
// HTTP between nodes needs of each node an address that the others reach: --listen is 0.0.0.0 in a
// container, so there would be a flag for it; with --tls-cert the certificate is that of the public
// name, so there would be authorities for the nodes' names, too; the firewall needs a rule; and the
// receiving node would count the other node as the client unless --trusted-proxies has its network.
// Over NATS there is nothing to configure: all nodes have an account that nobody else writes to,
// with its TLS, its users, and the answer that nobody listens. An answer takes the way over one or
// two NATS servers in pieces of 48 KiB, four of them ahead of its reader at most. A page of 100
// payments is 300 kB.
//
// The package must not know: NATS, which node has views, what a list is.
package passing
