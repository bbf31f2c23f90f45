// Package restore makes a log again from a back-up (package backup).
//
// # Rules
//
//   - Everything is checked before anything is written: the manifests, the existence and size of
//     each file, the whole file of keys, its number, and the master key. The contents of the other
//     files are checked while they are read. Damage names the file and the place.
//   - Messages are published with their exact bytes, and must get their old sequences. Then the
//     files are read back and compared.
//   - A destroyed value never comes back: a value that a destruction names is left out.
//   - A cluster must hold no ledger. The first stream of shard 0 is made first, with a mark in its
//     metadata. No node opens a log with the mark (streams.ErrRestoring), and init refuses it. When
//     everything is written, read back and verified, one update removes the mark. A restore removes
//     what a restore before it left behind, the marked stream last, and begins again.
//   - The server of a new folder does not sync each message. The whole folder is synced at the end,
//     before the caller gives it its name.
//
// # How sequences stay
//
// A stream begins with the first_seq of its description, so the messages of the log, of deliveries
// and of checkpoints get their sequences by themselves. SECRETS has gaps, where values were
// destroyed. In place of each gap an empty message is published. One purge deletes all of them at
// the end.
//
// Publishing was chosen instead of copying the server's files: it does not depend on the format of
// these files, it checks each sequence, and it also writes to a cluster. The receive times of the
// messages are new; nothing uses them.
//
// The package must not know: HTTP, SQL, encryption, and how the store opens a log.
//
// # Place
//
//	outside       cmd
//	servers     ► backup/restore
//	servers       archive, backup, embedded, external, remote
//	shards        secretlog
//	storage       folder, jetapi, streams
//	bytes         format, stored
package restore
