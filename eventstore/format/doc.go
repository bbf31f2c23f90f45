// Package format is the byte format of the log: events as frames, frames as groups, and the hashes
// that chain them. The package comment of eventstore describes every byte.
//
// # Rules
//
//   - Encoding is deterministic: the same event always has the same bytes and the same hash (I2).
//   - Parsing accepts only bytes that encoding would write. Everything else is ErrFrame or
//     ErrGroup. Of the frames of a compressed group this holds after they were expanded.
//   - An address is the sequence of a group and the number of a frame in it. Addresses sort as the
//     events of a shard do.
//   - An Aggregate encodes events and states with a schema version. Upgrades bring older events to
//     the newest schema; they never change what is stored.
//   - A new optional field of a group's header raises HeaderLevel. A process writes it only while
//     every live node reads that level (header.go).
//   - The dictionary of the compression never changes: groups depend on it.
//
// The package has no server, no disk and no clock. Its tests stand in package engine:
// group_test.go, frame_test.go, layout_test.go, fuzz_test.go.
//
// # Place
//
//	outside       cmd, notifier, projections
//	application   commands/causes, commands/workflows, secrets
//	log           engine, eventstore, ordered, position, turns, verify
//	servers       archive, backup, backup/restore, remote
//	shards        applied, checkpointlog, deliverylog, handover, ownership, tiprow
//	storage       streams
//	bytes         checkpoint
//	bytes       ► format
//	bytes         codec
package format
