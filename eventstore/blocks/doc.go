// Package blocks reads the message blocks of a JetStream file store without the server, and reports
// whether they are whole. Only package folder uses it; its comment says when and why.
//
// # Rules
//
//   - It opens files for reading only. It takes no lock.
//   - Memory is bounded: files are read in pieces of 256 KiB, a record may have 32 MiB, and a
//     length in a file allocates no memory before its bytes are read. The package holds a Result
//     for each block.
//   - A wrong record is never skipped without a report: it is a Fault, or the torn tail.
//   - It reports the state of files; the caller decides whether to start, to cut or to stop.
//
// The package must not know: what is in a message. Options.Handle can look, and refuse a record
// with stored.ErrRefused.
//
// # Byte layout
//
// The layout is that of nats-server 2.15.3, server/filestore.go; check it again after an upgrade. A
// stream is the folder <dir>/jetstream/<account>/streams/<stream>, its blocks are msgs/1.blk,
// msgs/2.blk, … A block is a row of records and nothing else, not compressed and not encrypted.
// Numbers are little-endian:
//
//	4 bytes  length of the record, checksum included; the highest bit says that there is a header
//	8        sequence; the highest bit: erased or skipped; the second highest: tombstone
//	8        time, in nanoseconds since 1970
//	2        length of the subject
//	         subject
//	4        length of the header, only with a header
//	         header: "NATS/1.0\r\n", lines, "\r\n"
//	         body
//	8        checksum
//
// The checksum is HighwayHash-64 over sequence, time, subject, header and body, one after the
// other. Its key is the SHA-256 of "<stream>-<number of the block>". It covers none of the three
// lengths. A wrong length of the record, or a wrong mark of the header, changes the hashed bytes,
// and so does a wrong length of the subject before a header. The contents reveal the other wrong
// lengths: a header must end at its first empty line, and the subject must be well-formed and match
// Options.Subject.
//
// Deleted messages leave one of these:
//
//   - A tombstone is a record of 30 bytes with the sequence of the deleted message. It stands in
//     the block that was the newest then, and is dropped when it is no longer needed.
//   - An erased message (secure delete) keeps its place, length and sequence. Its subject is empty,
//     its time 0, its body random. The server writes the whole block anew as N.blk.tmp and renames
//     it over the old one.
//   - A compacted block has no record of the deleted message at all. The server writes it as N.new
//     and renames it. A block without messages is removed. For this reason a gap is no fault with
//     Options.Deletes. The deleted messages at the end of a block go, too, with their tombstones in
//     it. If all later blocks hold only tombstones, the blocks end before the last sequence of the
//     stream, which only index.db still names; without it the server has a lower one.
//   - A stream that begins above 1 (first_seq) has a tombstone for the sequence before, in block 2.
//   - If the server lost the newest messages and still has an older index.db, it writes a tombstone
//     for the last sequence in index.db. In a stream that only grows this tombstone is a fault.
//
// # What is checked
//
//   - Each record: its lengths, its checksum, its subject, the form of its header.
//   - The order of sequences within and between blocks, also with deletes. Without deletes: every
//     sequence from the first one of the stream to Options.Through, or to the last one that
//     index.db names. With deletes: that the newest block reaches the last sequence that index.db
//     names for it. The server never compacts the newest block, so the record stands there, erased
//     or not. The end of an older block proves nothing.
//   - meta.inf against meta.sum. A server that finds meta.inf bad leaves the stream out and starts.
//   - Without deletes, a folder __new_msgs__ with a block: the next start would end a purge and
//     delete all messages.
//
// index.db holds the state of the stream at an orderly stop, and every two minutes. If its checksum
// is right and the newest block ends with the bytes that it names, the server trusts it and reads
// no block: damage stays unseen until a message is read. If index.db is bad, the server reads all
// blocks. For this reason a bad index.db is no fault here.
//
// A server that reads all blocks at a start cuts each file off at its first bad record, whatever
// follows. A running server does the same when it loads a block whose lengths are wrong. When it
// loads a block with a sequence that is too high, it enters each sequence before that one as
// deleted, until it has no memory left. Damage must be found before that: see OutlineOf.
//
// Not checked: the counts in index.db; o.dat, a consumer's position, which has no checksum;
// meta.inf of consumers, unless the caller calls CheckMeta for it; thw.db, sched.db and sources.db,
// which the server derives from messages; N.idx of servers before 2.10, which this server never
// writes; N.new, N.blk.tmp, __msgs__ and folders whose name begins with a dot, which the server
// ignores or removes; *.key, because a stream with meta.key is refused with ErrUnsupported.
//
// # Torn tail or damage
//
// A torn tail is a bad or incomplete record at the end of the newest block, with no valid record
// after it: Kind is Torn, and Result.End is the offset at which the server will cut. With a valid
// record after it, the bad record is damage. The search for a valid record tries the end of the bad
// record first, by its length, and then every offset in the next 64 MiB. It hashes at most 256 MiB
// a block. A search that ends at these bounds reports damage. In two cases the file alone is not
// enough:
//
//   - A flipped bit in the newest record looks like a torn tail, and a file that was cut between
//     two records looks whole. Options.Through, or a sequence that the caller kept elsewhere,
//     reveals both; index.db helps after an orderly stop.
//   - If the power fails while several records are written at once, a later record may be whole and
//     an earlier one not. None of them was acknowledged, but the package reports damage.
//
// # While the server runs
//
// Set Options.Through to a sequence that was acknowledged before the call: the newest block may end
// within a record that is being written, and no record after Through is checked. The server only
// appends to blocks of a stream that only grows, except for its own cut. It replaces blocks of a
// stream with deletes by renaming: an open file keeps its old contents, which are whole. If a newer
// block comes after the newest one was read, that one is read again if it has grown. A file that
// vanished is left out. A file that is bad and changed during the read is read again, at most three
// times; Handle then gets its records again.
//
// Without Options.Uncached, reads use the operating system's cache, and read the disk only where
// the cache does not hold the block. A check in the background should set it, a check before a
// start after a crash need not.
//
// # Place
//
//	storage       folder
//	storage     ► blocks
//	bytes         stored
package blocks
