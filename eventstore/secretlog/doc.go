// Package secretlog is the stream of secrets. It stores encrypted bytes under names, and destroys
// them.
//
// # Rules
//
//   - The order of the stream decides, so every node gets the same result: within a generation, the
//     first value of a name is valid until a destruction names it (package eventstore, Secrets).
//     Only an acknowledged write is a success (D3).
//   - A destruction is durable, in the stream and in the index, before the server deletes the
//     value. The next start completes a destruction that a crash interrupted.
//   - A rotation of the master key begins a generation (generation.go). A value counts only if it
//     names the generation in force at its place in the stream. A value sealed anew replaces the
//     earlier one, which is destroyed after it. Nodes may write meanwhile.
//   - Segments in which every value is replaced or destroyed are dropped as a whole after a
//     rotation (drop.go). So the first segment may have any number. Files and index of a dropped
//     segment are never damage; a missing segment that no message drops is.
//   - The index (keys.go) holds the sequence and the digest of each message, and each name's value.
//     A message enters it in one way: it is acknowledged, and read from the stream. The server does
//     not report a missing message: a message of the index that is missing without a destruction,
//     or has another digest, is damage.
//   - With an embedded server the blocks that a read, a deletion or a message needs are looked at
//     before it, and a damaged one is not used (guard.go): the server would cut it.
//   - The sole writer of a log continues in a new segment when one is full, and nothing is under
//     way.
//   - An embedded server has lost its disk if a publish fails without an answer more than 5 s
//     (Client.Patience) after the first one in a row did: the process stops. For the log itself the
//     limit is 8 s from the first publish of a group (package engine).
//
// The stream is separate from the log because its messages can be destroyed. It has no DenyDelete
// and no server-side encryption: both defeat secure delete. It is synced like the log. All values
// share one subject, so the server's memory does not grow with their number.
//
// # What it shares with the shards
//
// SECRETS is a kind of shard (streams.Kind, Destroys). One owner has for all kinds: the names, the
// order and the bounds of segments, and the configuration of their streams (streams.Line,
// engine.segmentConfig); the end, which is one number, in the tip store, in the groups that name it
// and in the inspection of a folder (Witness, archive); the dropped part, and the removal of its
// files (streams.Floor, folder.Clean). This remains apart:
//
//   - The end of a segment: no message closes one, because several nodes write without an order
//     among them, so none could write the last message. The sequence with which the next segment
//     begins is the end.
//   - The append: a value needs no message before it, so no owner and no expected sequence.
//     Duplicates after a lost answer, and values that came second, are destroyed.
//   - The reading: destroyed messages leave gaps, so no message can have the hash of the one
//     before. The index has a digest of each, and a destruction explains each gap.
//   - The index: its rows are written with each message, because a destruction must be synced there
//     before the server deletes the value. Tips are written once a second. Its end, which follows
//     with them, is the number of the shards.
//   - The drop: a message of SECRETS itself names the dropped segments, because it also destroys
//     their messages for every reader of the stream.
//   - A back-up has SECRETS in one file, written anew by each run, in another folder: a destroyed
//     value must not survive in an earlier file. A restore fills the gaps, so that each message
//     gets its sequence.
//
// # A rotation, and a crash after each step
//
//	step                                   after a crash, or a loss of the majority of the servers
//	1 the root of the hashes is a value    the old key opens everything; the next run begins again
//	2 both keys are kept (of a folder)     as 1; the next start removes what was kept
//	3 the generation has begun             all values are sealed with the old key, new ones with the new key; both keys are needed
//	4 values are sealed anew               each name has one value that counts; both keys are needed; earlier values may stand
//	5 the replaced values are destroyed    as 4; the next run, or the next cleaning of a node, destroys the rest
//	6 the drop of segments is recorded     as 4; the next start deletes the earlier segments
//	7 the earlier segments are deleted     as 4, and no earlier value of them is on the disk
//	8 the Raft logs are filled             the new key opens everything; random values may stand; the next run destroys them
//	9 the rotation is complete             the new key alone opens everything; the next run destroys the marks of earlier rotations, and of
//	                                       a folder the next start does step 10
//	10 one key is kept (of a folder)       the rotation is over
//
// From step 3 on a process without the new key is refused or stops, and before step 9 a process
// with the new key alone is refused. If the answer to a message is lost, the message is in the
// stream or not, and the next run finds out which.
//
// In a data folder step 3 begins a segment, and step 5 finds nothing: the earlier values are in
// segments that are dropped. So a folder pays no deletion, which overwrites a file of the server,
// for each value. A cluster has one segment, unless it was restored from a folder. Steps 6 and 7
// are for closed segments; there are none if every value stands in the segment of the generation.
// Step 8 is for clusters.
//
// In a cluster, before step 1, and before and after step 8, each server that holds the stream must
// run and have all messages (Replicated). Before step 8 each node must have read that the
// generation began (Settle): a value sealed with the old key would come into the logs after they
// are filled. A node that is cut off then, and a message whose answer was lost, are not seen.
//
// Design note: new segments for a rotation in a cluster were built first, and refused. A node that
// was cut off could write a value into the old segment after the new one had all values, and a late
// run could delete the segment of a later one. No message between processes can exclude that. The
// order of one stream can. The price: an index key for each value and rotation, and one deletion
// for each value. The logs of Raft groups, which deleting a stream removes, are compacted by
// writing more than they keep (package secrets, fill). A folder has one process, and a drop removes
// the index keys, too: 100,000 values take 25 s on two busy processors (TestRotationAtScale), and
// the disk has 3 % more afterwards.
//
// The package must not know: encryption, and the meaning of names (package secrets); events and
// shards.
//
// # Place
//
//	outside       cmd
//	application   secrets
//	log           engine
//	servers       archive, backup, backup/restore, embedded, remote
//	shards      ► secretlog
//	storage       folder, jetapi, streams, tipstore
//	bytes         due, fault, stored, workers
package secretlog
