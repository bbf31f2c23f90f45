// Package journal is an append-only file of lines with group commit: the durable half of the
// simulator's books (D14.16).
//
// Rules:
//   - A line is committed when Commit.Wait returns nil: it and every earlier line are written and
//     fsynced. The commit point is the return of File.Sync in Journal.flush.
//   - Appends during an fsync share the next one; no lock is held during write and fsync.
//   - A last line without its newline is a write that a crash cut before its commit: Open removes
//     it. Any other line that the reader refuses is damage, and Open fails with its place.
//   - After a failed write or fsync the journal accepts no more lines: the file's content is
//     unknown until it is read again.
//   - One process per file: Open takes an exclusive lock where the system has one.
//
// It must not know: the meaning of a line.
//
// Design note: the alternative to one flushing goroutine is that the first waiter flushes. With the
// goroutine, callers go on building answers during an fsync, and the order of lines needs no
// hand-over.
package journal
