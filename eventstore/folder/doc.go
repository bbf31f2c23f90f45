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
// for ten seconds: the server and the system keep a block in memory for about as long. After damage
// no look counts, so each later read is refused, too. A guard that reads the lengths and sequences
// of all blocks at a start would take minutes for a large log.
//
// A false alarm would stop a healthy shard. So two looks in a row must find the same damage, the
// newest block may end anywhere after the last message that was stored before the call, and no look
// at it counts once a newer one is there. A newest block without a message ends where the block
// before does, or before the first message of the stream.
//
// A block that the disk cannot return (EIO) is damage for the reads that need it, as it is for the
// server. Other errors of a look are errors of the read.
//
// An append makes the server read the newest block, if the block is not in memory. The guard looks
// at it before the first group after ten seconds without one. A look before each group would take
// longer than the group.
//
// The guard does not cover:
//
//   - SECRETS, where the server itself reads blocks to delete messages.
//   - The newest block at an append within ten seconds of the one before: a garbage collection can
//     drop a block from the server's memory earlier, if it was read. The system still has the
//     bytes.
//   - What the server reads at a start: the last message of each stream, and messages that are
//     newer than 0.1 s before its clock. A start has checked the newest block of each stream, and
//     all blocks of a stream whose newest messages are so new (package archive). It has not checked
//     older blocks with messages of a while in which the clock was ahead of the present time.
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
