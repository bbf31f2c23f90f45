// Package prover makes the proofs of package proof from the log.
//
// A path needs hashes from all over the Merkle tree. The log has the leaves only, and a checkpoint
// the tree's right edge. So a file, derived from the log, has the inner hashes: the roots of the
// complete subtrees of 64 events, and every node above them, under the numbers of
// golang.org/x/mod's tlog with such a subtree as a record. That is 1 byte an event. The nodes below
// come from the 64 events around the leaf, which are read from the log for each proof.
//
// Rules:
//
//   - The file can be lost or damaged at any time: every path is checked against the checkpoint's
//     root before it is given out. A path that fails makes the file anew from the log, once. If the
//     path fails again, the log is damaged (ErrUnhealthy).
//   - The checkpointer hands over the hashes of each checkpoint that it writes, so that nothing is
//     read twice. After a start, and after another node's checkpoint, the missing hashes are read
//     from the log in the background.
//   - On a ledger that may not be changed the file is only read, and missing hashes are made in
//     memory.
//   - A proof ends with the payment's newest event. If no checkpoint covers that event within Wait,
//     the proof ends with the newest covered event.
//
// The package must not know: HTTP, the folder's layout, the payment's rules. Its tests stand with
// those of package checkpointlog.
//
// Design notes: with all nodes in the file (64 bytes an event) it would be a tenth of the log; with
// subtrees of 256 events a proof in a quiet log would read 256 checkpoints.
//
// # Place
//
//	outside       cmd, httpapi
//	log         ► prover
//	log           eventstore, ordered
//	shards        checkpointlog
//	bytes         due, proof
package prover
