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
// for ten seconds, because the server and the system keep a block in memory. Alternative: a start
// reads the lengths and sequences of all blocks, which takes minutes for a large log. The guard
// does not cover SECRETS, where the server itself reads blocks to delete messages, and it does not
// cover the servers of a cluster. There only the scrub and the checks before a start find such
// damage.
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
