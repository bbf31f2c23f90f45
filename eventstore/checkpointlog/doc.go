// Package checkpointlog is the stream of checkpoints: it writes and reads them, and returns the
// order of events that they fix (I2).
//
// # Rules
//
//   - A position is returned only if its checkpoint is durable, so a power failure does not change
//     the position. On a log of one replica only an acknowledgement proves durability.
//   - Every node may run a Writer. The compare-and-swap on the stream decides whose checkpoint is
//     stored.
//   - A checkpoint covers whole groups. The edge of the tree (the hashes that appending needs) is
//     computed from the events if no checkpoint nearby contains it.
//   - A checkpoint ends exactly at the end of the log that a start of the sole writer found, and at
//     the moment of a back-up (bound.go). So an event has the same position in the old log and in a
//     log that was restored from a back-up (D22.10).
//   - It is damage if the stream ends before the newest checkpoint in the index (package sidelog).
//
// Package engine imports this package, because a start compares the log with the newest checkpoint.
// Package checkpoint has the message, the text and the tree.
//
// The package must not know: how shards append, read and recover, and which events exist.
//
// The tests of packages ordered and prover, which read the log by its checkpoints, stand here too:
// each program of tests with the log takes three seconds of CPU time to link.
//
// # Place
//
//	outside       cmd, projections
//	log           engine, ordered, prover
//	streams     ► checkpointlog
//	streams       jetapi, sidelog, tipstore
//	bytes         cache, checkpoint, due, fault, format, stored
package checkpointlog
