// Package sidelog is the segments of SECRETS, the stream beside the log that is no shard because
// its messages are destroyed one by one, and the index that is its witness.
//
// # Rules
//
//   - Only an acknowledged record enters the index (D3). The server does not report a missing
//     record: a record of the index that the server does not have, or has in an older state, is
//     damage.
//   - Only the sole writer of a log begins a segment, when nothing is under way.
//   - An embedded server has lost its disk if a publish fails without an answer more than 5 s
//     (Index.Patience) after the first one in a row did: the process stops. For the log itself the
//     limit is 8 s from the first publish of a group (package engine).
//
// The package is below package engine. Package engine opens it with the tip store and a function
// for damage. Inspection and scrub read the index. So the package takes no store of events.
//
// It must not know: groups, events, shards, and what the records mean.
//
// # Place
//
//	log           engine, verify
//	servers       archive, backup, backup/restore, external, remote
//	streams       secretlog, streams
//	streams     ► sidelog
//	streams       jetapi, tipstore
//	bytes         fault, stored
package sidelog
