// Package checkpointlog is the stream of checkpoints: their writer, their reads, and the order of the log that they fix (I2).
//
// # Rules
//
//   - A position is given out only if its checkpoint is durable: after a power failure it is the same. On a log of one replica only
//     an acknowledgement shows this.
//   - Every node may run a Writer. The compare-and-swap on the stream decides whose checkpoint counts.
//   - A checkpoint covers whole groups. The edge of the tree is made again from the events if no checkpoint nearby carries it.
//   - A missing or older checkpoint than the index has is damage (package sidelog).
//
// The package is below package eventstore, because a start compares the log with the newest checkpoint. Package checkpoint has the
// message, the text and the tree.
//
// It must not know: how shards append, read and recover, and which events there are.
package checkpointlog
