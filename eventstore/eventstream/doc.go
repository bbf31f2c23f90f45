// Package eventstream keeps the stream EVENTS for analysts (I2) on a NATS server of its own, which listens on the network.
//
// EVENTS is derived from the log. The sequence of a message is the position of its event, from the first retained one on and
// without a gap. It can be dropped and written again with the same sequences.
//
// # Rules
//
//   - A message is accepted only as the next one: it names its sequence as the expected one (Nats-Expected-Last-Sequence).
//     Several writers cannot write a message twice, out of order, or past a gap.
//
//   - The keys of the server's operator and accounts are derived from the master key. No key is stored.
//
//   - The subject of a message is events.<accountId>.<type>. Its headers are the CloudEvents 1.0 attributes, Ledger-Position,
//     Ledger-Revision and Ledger-Hash.
//
//   - No analyst, and no stranger, takes a connection from the service, or an answer from another merchant. One account has at most a
//     quarter of the connections and consumers. A part of a subject that a user chooses has at most 256 bytes.
//
//   - At each start the server reads all messages. Damage makes State report that the stream is not whole, or missing.
//
//   - A user reads the events of one merchant and can do nothing else. It can publish requests for consumers and acknowledgements, and
//     subscribe to its inboxes. Its credentials are valid while the ledger knows its public key.
//
// What it must not know: the log, and the content of a message's body.
//
// # Design notes
//
//   - Each merchant with users has a NATS account without JetStream. Its requests go one way, to the gate in the account of the stream,
//     and answers come back one way, to the merchant's inboxes; each way is a stream import. In an account with JetStream, subject
//     permissions do not separate users: a user chooses the reply subject of a request, and the server publishes there. A request for
//     a missing message with the reply subject $JS.API.STREAM.DELETE.EVENTS deletes the stream. A service import would separate them as
//     well, but keeps a mapping for minutes for every request.
//   - The gate begins a consumer's name with the merchant's account, limits its filter to the account's subjects, and copies only
//     known fields of a configuration; it refuses others by name. It forwards requests for messages and acknowledgements; the messages themselves go from the
//     server to the user without it.
//   - Each account's gate has its own connection. The server closes a connection for which too much waits: a flood ends the merchant's
//     own gate only, which opens again after a quarter of a second. Requests beyond 64 of a kind (4096 for messages and acknowledgements) are
//     dropped, and the client asks again.
//   - Clients connect to a listener of this package, which copies to connections inside the process. nats-server counts the service's own
//     connections like those of strangers who have not authenticated yet, and opens its address anew at each start.
//   - An address with a connection that the server ended within six seconds may open 64 more, and then 20 a second. Forty wait, and the
//     next ones are refused by the front. A refusal takes the server 0.6 ms of a core, and clients try again for ever. Clients behind
//     the address of such a client connect later than others.
//   - The index of the stream's blocks is removed before each start. With it the server trusts blocks that it has not read, and a
//     consumer then misses a damaged message without an error.
//   - Heartbeats and repeated deliveries shorter than a second are raised to one: the server would do nothing else.
//   - Alternative: a filtered mirror of EVENTS for each merchant. It keeps the sequences, but doubles the data, and its users have the
//     same problem with reply subjects.
//   - A second server in the process, and not a second NATS account on the server of the log: nats-server stops JetStream of a
//     whole server when one stream finds the disk full, its "sync always" counts for all streams, and connections of strangers
//     would share its limits. The server of the log never listens on the network.
//   - EVENTS is not synced after each message. After a power failure its end may be missing, and is written again.
//   - A stream with damaged metadata disappears from the server, and a new stream of its name would adopt the old blocks. So
//     Create removes the stream's folder first.
//   - After a failed write the server refuses further ones until it is restarted. Restart does that, on the same address.
package eventstream
