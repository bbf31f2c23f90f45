// Package ordered reads all events of the log in the order of their positions (I2), each once and
// without a gap, from any position on.
//
// Rules: only events that a durable checkpoint covers have a position, so a reader waits for the
// next checkpoint at the end. The order depends on the log alone: two readers get the same events
// at the same positions, on any node, before and after a restart. A reader has at most one page of
// the log in memory (64 groups), however long the log is.
//
// The package must not know: which events a caller shows, and how. Its tests stand with those of
// package checkpointlog.
//
// Design notes
//
//   - There is no index from positions to addresses. A checkpoint has the number of events that it
//     covers, in all and in each shard. A binary search over the checkpoints, and over the groups
//     of one checkpoint, finds a position with some 40 reads.
//   - A reader of a window of time reads the checkpoints with a group that may have an event of the
//     window (Store.Near), and passes over the others by the same binary search. Times are of the
//     nodes' clocks, and rise only roughly: no search by the times of single events is right, and
//     the end of a window is not remembered, because an event of the window may still come behind
//     it.
//   - Every event is checked against the counts of its checkpoint: a missing or surplus event is
//     ErrUnhealthy, and no gap.
//   - Readers share a cache of checkpoints. At the end of the log all readers read the same new
//     checkpoint.
//   - A checkpoint that is older than a position is no proof that the log lacks the position: a
//     leader that was cut off still shows it. The ends of the shards are.
//
// # Place
//
//	outside       cmd, httpapi, projections
//	log           prover
//	log         ► ordered
//	log           eventstore
//	shards        checkpointlog
//	storage       jetapi
//	bytes         checkpoint, format
package ordered
