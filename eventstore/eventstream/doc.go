// Package eventstream keeps the stream EVENTS for analysts (I2) on a NATS server of its own, which
// listens on the network.
//
// EVENTS is derived from the log. The sequence of a message is the position of its event. The
// stream begins with the first retained event and has no gap. It can be dropped and written again
// with the same sequences.
//
// # Rules
//
//   - Each publish names the expected sequence (Nats-Expected-Last-Sequence), and the server
//     accepts only the next message. So several writers cannot write a message twice, out of order,
//     or past a gap.
//   - The keys of the server's operator and accounts are derived from the master key. No key is
//     stored.
//   - The subject of a message is events.<accountId>.<type>. Its headers are the CloudEvents 1.0
//     attributes, Ledger-Position, Ledger-Revision and Ledger-Hash.
//   - No analyst, and no client without credentials, can use up the connections of the service, or
//     receive the answers of another merchant. One account has at most a quarter of the connections
//     and consumers. A part of a subject that a user chooses has at most 256 bytes.
//   - At each start the uncompressed blocks are cut off at their first bad record, and Config.Cut
//     gets the reason. Then the server reads all messages, with their checksums. Damage makes State
//     report that the stream is not whole, or missing.
//   - Suspected damage while the server runs ends the connections of all clients, and none connects
//     until the writer has restarted the server, checked the stream and called Admit. Damaged has a
//     signal then.
//   - A user can only read the events of one merchant. It can publish requests for consumers and
//     acknowledgements, and subscribe to its inboxes. Its credentials are valid while the ledger
//     lists its public key.
//
// The package must not know: the log, and the content of a message's body.
//
// # Design notes
//
//   - Each merchant with users has a NATS account without JetStream. Its requests go one way, to
//     the gate in the account of the stream, and answers come back one way, to the merchant's
//     inboxes; each way is a stream import. In an account with JetStream, subject permissions do
//     not separate users: a user chooses the reply subject of a request, and the server publishes
//     there. A request for a missing message with the reply subject $JS.API.STREAM.DELETE.EVENTS
//     deletes the stream. A service import would separate them as well, but keeps a mapping for
//     minutes for every request.
//   - The gate puts the merchant's account before a consumer's name, and limits the consumer's
//     filter to the account's subjects. It copies only known fields of a configuration, and refuses
//     other fields by name. Values that mean "not set" are accepted, with the zero time, which the
//     command line of NATS sends. A filter with wildcards in the place of the account, as ">",
//     means the account's own events. It forwards requests for messages and acknowledgements. The
//     messages go from the server to the user directly. A request for one message (STREAM.MSG.GET)
//     is answered by the gate, if the message is the account's own.
//   - Each account's gate has its own connection. The server closes a connection if too many bytes
//     wait for it. So a flood ends only the merchant's own gate, which opens again after a quarter
//     of a second. Requests beyond 64 of a kind (4096 for messages and acknowledgements) are
//     dropped, and the client repeats them.
//   - Clients connect to a listener of this package, which copies to connections inside the
//     process. nats-server counts the service's own connections together with connections that have
//     not authenticated yet, and opens its address anew at each start.
//   - If the server ended a connection of an address within six seconds, the address may open 64
//     more connections, and then 20 a second. A client that sends its credentials and leaves within
//     a second counts as well. Forty connections wait, and the front refuses further ones. A
//     refusal takes the server 0.6 ms of a core, and clients try again for ever. Other clients
//     behind the same address also wait.
//   - The index of the stream's blocks is removed before each start. If the index exists, the
//     server trusts blocks that it has not read, and a consumer then misses a damaged message
//     without an error.
//   - The intervals of heartbeats and repeated deliveries are at least one second. Shorter
//     intervals could take all of the server's time.
//   - Alternative: a filtered mirror of EVENTS for each merchant. It keeps the sequences, but
//     doubles the data, and its users have the same problem with reply subjects.
//   - The stream is on a second server in the process, not in a second NATS account on the server
//     of the log. nats-server stops the JetStream of a whole server when one stream finds the disk
//     full. Its "sync always" applies to all streams. Unknown clients would share its limits. The
//     server of the log never listens on the network.
//   - EVENTS is not synced after each message. After a power failure its end may be missing, and is
//     written again.
//   - A running server reads a block without its checksums when it has dropped it from memory,
//     which each garbage collection can cause: for a consumer, a request for a message, or the
//     next write of the feed. If a high byte of a sequence is damaged, it enters each sequence
//     before the false one as deleted, with 0.6 GB of memory a second, until the kernel kills the
//     process, and the payments service with it (filestore.go, indexCacheBuf; 2.15.3 is the newest
//     stable version and has no guard). Only uncompressed blocks can have such damage, because the
//     checksums of a compressed block come first. So the writer checks these blocks with package
//     folder (Uncompressed). This does not help if the server reads or compresses a block after its
//     damage and before the next check. The next start detects such damage.
//     Alternative: all blocks compressed, which nats-server does not offer for the newest one.
//   - A stream with damaged metadata disappears from the server, and a new stream of its name would
//     adopt the old blocks. So Create removes the stream's folder first.
//   - After a failed write the server refuses further ones until it is restarted. Restart does
//     that, on the same address.
//
// # Place
//
//	outside       cmd, projections
//	log         ► eventstream
//	storage       disk, folder, jetapi
package eventstream
