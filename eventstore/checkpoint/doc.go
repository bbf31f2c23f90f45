// Package checkpoint is the bytes of a checkpoint, its signed text, and the Merkle tree over the
// events of the log.
//
// # Rules
//
//   - Checkpoints fix one order over all shards (I2).
//   - The signed text names the size, the root, the last groups and the counts: a changed log
//     cannot keep a signed checkpoint.
//   - The edge of the tree is checked against the root before the next leaf is added to it.
//   - Parse accepts only bytes that Encode writes.
//
// The package comment of eventstore describes the order, the tree and the text. The package has no
// server, no disk and no clock.
//
// # Place
//
//	log           ordered, verify
//	servers       remote
//	shards        checkpointlog
//	storage       streams
//	bytes       ► checkpoint
//	bytes         fault, format, proof
package checkpoint
