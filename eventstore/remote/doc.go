// Package remote reads the streams of a cluster's log through its servers, for package verify and
// for the back-up. For the back-up it appends empty messages, which prove the ends of its
// reads. It needs no tip store, and its memory does not grow with the log.
//
// # Rules
//
//   - The ends of the shards are of one moment, and acknowledged (Cut). Messages before an end are
//     read from any replica: a quorum has committed them, and the caller checks the hashes. A
//     replica that lacks a message is behind; its leader then answers.
//   - A missing message is damage only when the leader lacks it for longer than a leader without
//     its cluster can answer.
//   - Cut appends empty groups and one empty record of SECRETS. Nothing else appends.
//   - A server does not answer a request that the connection's user may not send. The error then
//     names the right that is missing.
//
// # The moment of a cut
//
// A process that reads the ends of several shards one after the other can see an event whose cause
// is missing: a payment without the claim of its key. So Cut reads the ends of all shards twice,
// until both reads are equal: then all shards had these ends at the moment between the two reads.
// Every read is of the leader of the stream.
//
// A leader that lost its cluster still answers, with an old end, for up to jetapi.StaleLeader. So
// an empty group is then appended to each shard, as a compare-and-swap at the end that was read.
// Its acknowledgement proves that no other group had come: no leader can acknowledge without its
// cluster, and one that has newer groups refuses. After a refusal Cut reads the ends again.
//
// The groups are a visitor's and name no node, so the owner of the shard stays the same, and the
// other nodes go on to hand their drafts to it (packages handover, ownership). They do not name the
// ends of CHECKPOINTS and SECRETS.
//
// Under load two reads are seldom equal. Then Cut requests all nodes to begin no group for 100 ms
// (package handover, HoldMessage); if that was too short, for twice that time, up to two seconds,
// with a pause of three times the hold. With 128 writers and 8 shards on two cores, a cut took 91
// to 228 ms with holds, and 0.2 to 7.9 s without. The hold is a help, and no lock: it needs no
// answer, and a node that misses it makes the two reads differ. Without an equal pair Cut ends with
// ErrBusy after three minutes.
//
// The package must not know: aggregates, secrets' values, files.
//
// # Place
//
//	outside       cmd
//	servers       archive, backup, backup/restore
//	servers     ► remote
//	servers       external
//	shards        handover, secretlog
//	storage       jetapi, streams
//	bytes         checkpoint, due, fault, format, stored, workers
package remote
