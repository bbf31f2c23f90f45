// Package verify checks a whole log, event by event, from the first one (I1). It reads the files of
// a server that runs or is stopped, or of a back-up, or the messages that the servers of a cluster
// return, up to acknowledged ends, and changes nothing.
//
// # What it checks
//
//   - Files: the records' checksums, and SECRETS against its index (package archive). Without the
//     tip store: that a destruction names each missing record of SECRETS.
//   - Groups: sequences without a gap, the hash of the group before, the counts of events and
//     aggregates, one log id.
//   - Events: revisions without a gap, Ledger-Prev-Seq, the hash over the hash before.
//   - States: the recorded state, and the parts moved out of it, are byte for byte those that the
//     fold of the events gives.
//   - Claims: the payment that a single-use token names is the payment that was made with it; a
//     claim of a key names a payment.
//   - Ends: every shard reaches the group that another shard names as acknowledged, and CHECKPOINTS
//     and SECRETS reach the records that groups name. Of files, archive.Archive.Compare compares
//     them, also with the tip store and with what the process knows.
//   - Dropped deliveries: if the first groups are gone, a record says that they were dropped.
//   - Checkpoints: size, counts, root and edge are those of the events, and the signature is the
//     ledger's.
//   - The tip store: the newest event of each aggregate, the parts moved out of its state, the ends
//     of the shards, and nothing else. The times of each stretch of groups hold those of its
//     events, and end with them.
//
// Config.Newest gets the newest state of each aggregate, so that the caller can compare its views.
// Config.Shown gets the events at the views' positions, and Config.Delivery the records of
// deliveries.
//
// In files without the tip store, missing newest records of SECRETS and DELIVERIES cannot be
// noticed.
//
// # A log that grows
//
// The ends are known before the streams are listed, so every segment up to them is found.
//
// The ends of a running service with its own storage are of one moment. Its files are read, and
// its server is not asked: it would cut a damaged file when it loads it. With the groups read
// through the server, verify changed the files in 4 of 40 experiments of package faulttest
// (TestVerifyRunning). The newest groups may be in the files and not in the tip store, as after a
// kill.
//
// The ends of a cluster are of different moments. So later groups are read for a question that they
// may answer: an owner of a claim may stand after the end of its shard, and so may the record of
// segments of deliveries that were dropped, or of secrets that were destroyed, while they were
// read.
//
// # How it needs little memory
//
// The fold is local: state N must be that of event N applied to state N−1, and hash N covers hash
// N−1. So only the newest state of each aggregate is needed. A cache of bounded size holds those of
// the aggregates with recent events. One pass over the tip store lists a digest of each tip in a
// scratch store on the disk, which sorts them in the order of the log (tipList). An event with the
// digest of its tip is the newest of its aggregate: the aggregate is forgotten when it leaves the
// cache. Any other goes into the scratch store, too, until its next event. At the end of the log
// the check looks up the tips of all other aggregates, and names the differences. Claims look up
// their owners, unless the owner was read shortly before; without a tip store, the scratch store
// keeps claims and owners until all shards were read. Without a whole list, every tip is looked up.
// Shards are read concurrently; the checkpoints' tree takes the hashes of their events in turn, so
// that no shard runs ahead of another one by more than a few hundred groups. The largest heap
// (BenchmarkVerify) was 48 MB for 100,000 payments. The list alone took 52 MB for 12,000,000 tips,
// and 40 bytes of the disk for each tip. Runs that the package itself sorted in a file took a third
// of that CPU time, but the whole check of 100,000 payments was no faster.
//
// # Faults
//
// A Fault names stream, sequence, aggregate, revision and difference. Config.Report ends the run at
// the first fault, or collects all of them. After a fault the checks continue from the recorded
// state, so that one wrong event is one fault.
//
// The package must not know: servers, HTTP, SQL, secrets.
//
// # Place
//
//	outside       cmd, projections
//	log         ► verify
//	log           eventstore
//	servers       archive
//	shards        tiprow
//	storage       streams, tipstore, tipstore/tipfiles
//	bytes         cache, checkpoint, codec, format, workers
package verify
