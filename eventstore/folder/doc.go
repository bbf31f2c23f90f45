// Package folder owns the files of a NATS server: its streams, their messages, descriptions and
// indexes. Other packages know a stream by its name, and its messages by their sequences. Package
// blocks is the parser, which only this package uses.
//
//   - Streams, Describe, Read: the streams of the log. The server may run, or be stopped.
//   - Repair, SyncNewest: before a start. Remains, SyncStreams: after a segment was dropped.
//   - Guard: before a running server reads a block.
//   - CutDamaged, Uncompressed: the stream EVENTS, which can be written again.
//   - Lock, Share: one server at a time.
//
// # Which damage needs the bytes of the files
//
// The server returns what it believes to have stored, and the service reads through it. It cannot
// say the following of its files, and for each of these a reading of the bytes remains:
//
//   - What a start would cut off or leave out. A server that does not trust its index reads all
//     blocks, and cuts each at its first bad record, acknowledged messages included. It drops a
//     stream whose description is damaged, and ends a purge that it finds begun. After the start
//     nothing shows it. So a folder is read before, and a damaged one is refused unchanged.
//   - Damage that misleads the running server: a wrong length makes it cut a block off, a wrong
//     sequence makes it enter each sequence before as deleted until it has no memory left. So
//     nobody may find such damage by asking the server. The guard looks at a block first.
//   - Damage that the server does not see: in blocks that nobody reads, in the lengths of subjects
//     and headers, which no checksum covers, and deleted messages of a stream that has none. The
//     scrub reads all bytes, slowly, from the disk instead of the cache.
//   - All damage that verify and backup must find without a change of a byte: a server that starts
//     changes some, and so does one that runs and loads a damaged block.
//
// A server on a copy of a stopped folder, or on hard links to its files, was tried instead of the
// parser: nats-server 2.15.3, 622 random damages of package faulttest, and verify through the
// server. With the parser, verify found 514; the other 108 changed no answer. On links, the server
// changed original blocks of messages after 214 damages, and no file of a folder without damage. On
// a copy, verify missed 34 of the 514: after ten of them the server returned the record of a
// destroyed secret again, after three the newest checkpoint was gone. With a comparison with the
// tip store verify missed 21, and the server returned every message as before. But in both cases 9
// of 27 flipped bits in the sequence of a record filled the 6 GB of memory that the process had at
// its start, and nothing was verified. The copy of a log of 225 MB took as much of the disk again.
// On two busy cores verify took 11 to 16 s with the parser, 26 to 41 s with a server on a copy, and
// 14 to 16 s with the tip store besides: time is no reason for the parser.
//
// # Rules
//
//   - Only files that the server makes again are removed: the description of a stream without
//     messages, and an index. No message is ever lost by a repair.
//   - A repair comes after a reading without damage (package archive).
//   - A message of SECRETS may be deleted, and a message of another stream of the log never: Read
//     knows it by the stream's name, and the stream's subject, too.
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
// server. One look shows that: a disk may take many seconds to report it. Other errors of a look
// are errors of the read.
//
// A look that takes too long fails, and goes on. If it finds damage, the next look at the block
// returns that at once.
//
// An append makes the server read the newest block, if the block is not in memory (nats-server
// filestore.go, setupWriteCache and loadMsgsWithLock): at a wrong length it cuts the block, and
// appends behind the cut. The guard looks at the block before the first group after ten seconds
// without one. A look before each group would take longer than the group. If the block is damaged
// or cannot be read, the group is not sent.
//
// In SECRETS the guard looks at the blocks of each read, deletion and purge, and at the newest
// block before a message or a deletion, which the server notes there. A gap is no damage in
// SECRETS, so a look compares the checksums: 2 ms for a block of 8 MiB of large values in the
// memory of the system (a server that must load the block takes 2 ms, too). If a block is damaged,
// the request is not sent.
//
// Design note: reads of acknowledged messages from the files instead of the server were considered:
// the server has written and synced them. The guard would have to stay for appends, for deletions,
// and for groups whose answer was lost. In SECRETS a read would have to find the marks of deleted
// messages that are not overwritten, which any later block can have. To be as fast as the server,
// the reads would need the places of all messages of a block in memory.
//
// The guard does not cover:
//
//   - Blocks of SECRETS that the server itself writes anew, because messages in them were deleted:
//     every two minutes those with more deleted bytes than others. A look was before the deletion.
//     After a start the server may look for such blocks without a deletion.
//   - Marks of deleted messages behind the last message in the newest block of SECRETS. If one is
//     cut off, the next start returns the message, and its destruction names it.
//   - The newest block at an append within ten seconds of the one before: a garbage collection can
//     drop a block from the server's memory earlier, if it was read. The system still has the
//     bytes.
//   - An append whose look takes too long. The group is sent without it, because its answer shows
//     whether the disk is lost. The next group is looked at again.
//   - More than one block behind the messages that are to be read. The server passes by messages
//     that are bad, perhaps through whole blocks of them.
//   - What the server reads at a start: the last message of each stream, and messages that are
//     newer than 0.1 s before its clock. A start has checked the newest block of each stream, and
//     all blocks of a stream whose newest messages are so new (package archive). It has not checked
//     older blocks with messages of a while in which the clock was ahead of the present time.
//   - The servers of a cluster.
//
// There only the scrub and the checks before a start find such damage.
//
// The package must not know: what the messages hold. Reading.Handle can look, and refuse a message.
//
// # Place
//
//	outside       cmd
//	log           engine, eventstream
//	servers       archive, backup, backup/restore, embedded
//	shards        secretlog
//	storage     ► folder
//	storage       blocks, disk, streams
//	bytes         fault, stored
package folder
