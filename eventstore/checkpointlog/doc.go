// Package checkpointlog is the checkpoints of a log, records of a shard of their own: it writes and
// reads them, and returns the order of events that they fix (I2).
//
// # Rules
//
//   - A position is returned only if its checkpoint is acknowledged, so a power failure does not
//     change the position.
//   - Every node may run a Writer. The compare-and-swap on the newest record decides whose
//     checkpoint is stored.
//   - The number of a checkpoint is the revision of its record. The counts in the groups lead to
//     the record (checkpoint.Locate).
//   - A checkpoint covers whole groups. The edge of the tree (the hashes that appending needs) is
//     computed from the events if no checkpoint nearby contains it. If a shard is damaged there,
//     the process starts without it, and its Writer waits for the next edge that another node
//     writes.
//   - A checkpoint ends exactly at the end of the log that a start of the sole writer found, and at
//     the moment of a back-up (bound.go). So an event has the same position in the old log and in a
//     log that was restored from a back-up (D22.10).
//
// Package engine imports this package and implements Shard, because a start compares the log with
// the newest checkpoint. Package checkpoint has the message, the text and the tree.
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
//	shards      ► checkpointlog
//	storage       jetapi, streams
//	bytes         cache, checkpoint, due, fault, format
package checkpointlog
