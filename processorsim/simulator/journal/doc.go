// Package journal is an append-only file of lines with group commit: the durable half of the
// simulator's books (D14).
//
// Rules:
//   - A line counts once Commit.Wait has returned nil: it is written and fsynced, and so is every line
//     appended before it. The commit point is the return of File.Sync in Journal.flush.
//   - Appends that come while an fsync runs share the next one; no lock is held during write and fsync.
//   - A last line without its newline is what kill -9 leaves of a write that nobody was told about: Open
//     cuts it off. Anything else that the reader refuses is damage, and Open fails with its place.
//   - After a failed write or fsync nothing more is accepted: what the file holds is not known until it
//     is read again.
//   - One process per file: Open takes an exclusive lock where the system offers one.
//
// What it must not know: what a line means.
//
// Design note: one flushing goroutine beats letting the first waiter flush, because whoever appends
// during an fsync can go on building answers, and the order of lines needs no hand-over.
package journal
