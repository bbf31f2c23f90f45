// Package modeltest holds the event store to a model that knows nothing but what the store
// answered. It has only tests.
//
// Random appends, claims, early ends of callers, cut connections, restarts, crashes and power
// failures run against the real store on the real embedded server. Afterwards the log is read as a
// whole:
//
//   - An acknowledged event stands once, at the address and with the hash that its writer was
//     given.
//   - A refused event stands nowhere. An event of unknown outcome stands at most once, and what the
//     first look after a crash finds does not change any more.
//   - What a refusal, a "nothing to do", a read or a subscriber showed still stands.
//   - Every aggregate's revisions have no gap, its hashes are those that an auditor computes, each
//     event was decided on the state before it, and the order is that in which the callers were
//     answered.
//   - The tips are the fold of the events, and the list of aggregates is complete.
//
// A power failure is a crash of a child process whose unsynced writes are lost. The child runs
// under a seccomp filter that stops it at each fsync, fdatasync, rename and open with O_SYNC. At
// that moment the test copies the file, or the folder's list of names: the copies are what the disk
// is sure to hold. The crash happens at a chosen sync, before or after it takes effect. The folder
// of the next start is built from the copies, and of what was written past them any pages, torn
// ones too, any of the new, renamed and removed names, or nothing.
//
// The model is generous in one respect, as ext4, XFS and btrfs are: the sync of a file makes its
// own name durable, and the folders above it.
//
// It must not know how the store works inside.
package modeltest
