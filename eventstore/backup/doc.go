// Package backup copies the log of a folder or of a cluster into folders of its own: consistent
// while the service runs, incremental, and with the keys apart. Both have the same format, so a
// back-up of either is restored to either. Package restore, in the folder below, makes a log again
// from them.
//
// # Rules
//
//   - A run is complete when its manifest has its name. Before that the last complete run is valid
//     and unchanged, whatever was interrupted. The next run continues: it takes over the complete
//     files of the interrupted one.
//   - A file is written under a temporary name, synced, renamed, and its folder synced. No file
//     changes after that.
//   - Damage is never copied: the checksum of each record, and hash, counts and log of each group
//     are checked while they are copied. The error names stream and sequence. A log that does not
//     continue the back-up is refused (ErrOther).
//   - Nothing is written to the data folder; a cluster gets an empty group for each shard, and an
//     empty record of SECRETS. Memory does not grow with the log.
//   - The master key is in no back-up.
//
// # Contents of a back-up
//
//   - The groups of every shard, of the records of deliveries and of the checkpoints: the exact
//     messages with their sequences. The positions of readers are records of deliveries.
//   - SECRETS, into the folder of the keys: sealed keys of personal data, signing secrets, cards,
//     the signer of the checkpoints.
//
// Views, tip store and the stream EVENTS are derived from the log, and are not copied; nor are the
// books of the simulated processors.
//
// # The moment
//
// The running service returns a Cut, over its socket; the command reads the files itself. The
// acknowledged ends of all shards and of the records of deliveries are read at one moment, with all
// of them locked. A position or a delivery is written after the events that it refers to were
// acknowledged. So none of the back-up refers to an event after the ends, and no witness of a group
// (package eventstore, Byte layout) names a group after them. SECRETS is copied last: every sealed
// event of the back-up has its key there, unless it was destroyed.
//
// A back-up ends at a checkpoint, because the positions of events without one are not fixed yet:
// the service could publish an order of them that the restored log does not get (D22.10). The
// writer of checkpoints ends the next one exactly at the moment of the cut, and the cut waits for
// it; the checkpoints are copied up to that one. Under load that takes up to a second, in which the
// service continues.
//
// SECRETS changes while it is copied. A value that is destroyed meanwhile may be missing, and its
// destruction stands after the end of the copy. The copy then continues to the newest end, until a
// destruction names every missing sequence. A value that a destruction names is left out: an erased
// key is in no back-up that is made later.
//
// In a cluster no lock stops the appends of all nodes. Package remote reads all ends twice until
// both reads are equal and the newest checkpoint covers exactly the events up to them, and proves
// by an empty group in each shard that no old leader answered. Where no node runs that could write
// the checkpoint of the newest events, the back-up is refused. Messages before the ends are read
// from any replica, and their hashes are checked.
//
// In the folder of a stopped service the end of each stream is the end of its files. They are
// synced first: after a kill the newest groups may be in the memory of the system only, and a power
// failure would take them from the log, but not from the back-up. After a kill the newest events
// have no checkpoint. The first checkpoint of the next start ends exactly at the end of the log
// that the start found, so the old folder and the restored one give the same positions.
//
// # Folders
//
//	OUT/000002-LEDGER_0_1-512.messages   run 2: messages of a stream, from a sequence on
//	OUT/000002.manifest                  run 2 is complete
//	KEYS/000002.keys                     the keys of run 2: the only file of keys after a complete run
//
// A manifest is JSON (type Manifest) and a last line with its SHA-256. It names its new files with
// their SHA-256, the end of each shard with its hash, all streams, the SHA-256 of the keys, and the
// SHA-256 of the manifest before. Files of streams that the log has dropped since (old deliveries)
// are removed. The numbers of runs grow, with gaps after interrupted runs.
//
// A file of messages, numbers are big-endian:
//
//	19 bytes  "payledger backup 1\n"
//	4         length of the header
//	          the header: JSON (type Header), with the configurations of the streams
//	4         CRC-32C of all bytes before
//	records:
//	4         length of the record, checksum included
//	8         sequence
//	2         length of the subject
//	4         length of the message's header
//	          subject, header, body
//	4         CRC-32C of the record's bytes before
//	end:
//	4         0xffffffff
//	8         number of records
//	32        SHA-256 of all bytes before the end
//	4         CRC-32C of the end's bytes before
//
// The checksums of records name the place of a fault. The SHA-256 in the manifest reveals an
// exchanged file.
//
// # Keys
//
// Order of a run: files of messages, the new file of keys beside the old one, the manifest; then
// the old file of keys is overwritten and removed. A restore takes the newest file of keys and
// refuses keys with a lower number than the newest manifest: a customer who was erased in between
// would come back. Keys with a higher number are from an interrupted run, and are accepted: they
// lack only destroyed values. Two old copies of both folders fit each other and bring the erased
// customers of the time after them back. So copies of the folder of keys must expire, and erasures
// since the time of the run are repeated after a restore. An erasure that is in the log, and whose
// key was not destroyed yet, is completed by the first start.
//
// The file of keys holds the sealed cards of unfinished payments until the next run. Keep the
// folder on an encrypted disk.
//
// # Figures
//
// The stopped log of 20,000 payments (160,000 events) on two processors that other programs used as
// well: 34,800 events/s, 58 MB of files, largest heap 22 MB; 0.3 s for a run without anything new;
// 78,000 events/s into a new folder, without tip store and verify (go test -run - -bench Backup
// ./eventstore/backup).
//
// The package must not know: HTTP, SQL, encryption, and how a server appends.
//
// # Design notes
//
// The command reads files instead of messages over NATS: the service needs no memory for it, and
// package folder names damaged places. Of an old block that was copied before, only the newest is
// read again, to compare the last group of the back-up with the log's.
//
// A restored log has the id of the old one and its signing secrets. Two services with one log id
// both complete its open operations and send its webhooks; the processor takes each operation once,
// by its key, but later events differ. Nothing can detect that from inside: stop the old service
// for good first. A witness of the checkpoints sees it.
//
// A back-up of a cluster needs no master key: the machine that makes it cannot read what it copies.
//
// # Place
//
//	outside       cmd
//	log           engine
//	servers       backup/restore
//	servers     ► backup
//	servers       archive, remote
//	shards        secretlog
//	storage       disk, folder, streams
//	bytes         fault, format, stored
package backup
