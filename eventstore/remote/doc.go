// Package remote reads the streams of a log on an external cluster, for a back-up and for package verify. It needs no tip store, and its
// memory does not grow with the log.
//
// # Rules
//
//   - The ends of the shards are of one moment, and acknowledged (Cut). What is before an end is read from any replica: a quorum has
//     committed it, and the caller checks the hashes. A replica that lacks a message is behind; its leader then answers.
//   - A missing message is damage only when the leader lacks it for longer than a leader without its cluster can answer.
//   - The package appends empty groups and one empty record of SECRETS, and changes nothing else.
//
// # The moment of a cut
//
// A node that reads the ends of several shards one after the other can see an event whose cause is missing: a payment without the claim of its
// key. No lock stops the appends of all nodes. So a cut is optimistic: the ends of all shards are read, and then an empty group is
// appended to each, at the place after the end that was read. Each append is a compare-and-swap. If all are acknowledged, no other group came
// between the read and the append, in any shard: at the moment between them all ends were the ones that were read. The acknowledgements
// also prove that the ends are no old ends of a leader that lost its cluster. An append that another group forestalled is repeated if that group
// had no events. Otherwise the cut begins again. Two equal reads come first, so that few attempts append in vain.
//
// The groups name the node of the group before them, so the other nodes go on to hand their drafts to that node (package handover).
//
// Under load that never pauses for the time of two reads, Cut ends with ErrBusy. Locking the shards by a message to all nodes was left
// out: a back-up must not need the nodes, nor stop them.
//
// What it must not know: aggregates, secrets' values, files.
package remote
