// Package jetapi is a thin client of JetStream's API: publishes, reads at the leader of a stream,
// Direct Gets, lists of streams.
//
// # Rules
//
//   - Nothing is sent again by itself. A publish is sent once; without an answer its outcome is
//     unknown, and the caller decides (D8).
//   - Only an acknowledgement is success. Error.Definite names the answers that prove that nothing
//     was stored.
//   - Every request has a time limit.
//   - A list of streams is whole, or an error: in a cluster an answer may lack streams whose leader
//     is being elected.
//   - Look-ups have connections of their own. The server answers a Direct Get in the loop that
//     reads the connection, and waits there while the stream syncs: on a shared connection one
//     look-up would delay every publish behind it.
//
// The package must not know: groups, events and shards.
//
// # Place
//
//	log           engine, eventstream, ordered
//	servers       backup/restore, ceiling, embedded, external, nodes, remote
//	shards        checkpointlog, secretlog
//	storage     ► jetapi
//	bytes         due, fault, stored
package jetapi
