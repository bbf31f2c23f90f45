// Package folder locks the folder of an embedded server, repairs the folder of a stopped one before
// a start, copies files that the server will cut, and looks at blocks before a running server reads
// them.
//
// # Rules
//
//   - Only files that the server makes again are removed: the description of a stream without
//     messages, and an index. No message is ever lost by a repair.
//   - A repair runs after the inspection: a damaged folder is refused unchanged (package comment of
//     eventstore, design notes).
//
// # Guard
//
// A look at a block of 8 MiB takes about 1 ms, and the server's own read takes more. A look counts
// for ten seconds: the server and the system keep a block in memory for about as long. A guard that
// reads the lengths and sequences of all blocks at a start would take minutes for a large log.
//
// A false alarm would stop a healthy shard. So the newest block may end anywhere after the last
// message that was stored before the call, and no look at it counts once a newer one is there.
//
// The guard does not cover:
//
//   - SECRETS, where the server itself reads blocks to delete messages.
//   - What the server reads for itself: the newest block of a stream, if an append finds it dropped
//     from memory, and the newest blocks at a start within 0.1 s of the last message.
//   - The servers of a cluster.
//
// There only the scrub and the checks before a start find such damage.
//
// The package must not know: what the messages hold. Package blocks knows the layout of the files.
//
// # Place
//
//	outside       cmd
//	log           engine
//	servers       archive, embedded
//	streams     ► folder
//	streams       blocks
package folder
