// Package archive is a log that package verify checks: Open reads the files of a stopped server, Of
// those of a running one, From a back-up, and OfServed the messages that the servers of a cluster
// return. Inspect checks a stopped folder before its server starts, and a Pass the files of a
// server that runs.
//
// # Rules
//
//   - An embedded server changes a damaged folder when it starts. It cuts a file at its first bad
//     record, trusts its index if it has one, and drops a stream whose description is damaged. So
//     Inspect reads the folder first, and refuses a damaged folder.
//   - No record is changed. A power failure can leave a torn tail (a record that is not complete).
//     Inspect copies it before the server cuts it, but never one of SECRETS, and removes the index
//     of its stream, so that the server does.
//   - An archive reads no further than the ends that were acknowledged when it was opened (but
//     Later).
//   - Each segment in files is read once: Groups passes its groups on, and notes the places that
//     Compare compares. The server may run: it only appends to a segment, and has synced every
//     message that it has acknowledged. Files that look damaged are read again, because they may
//     have been replaced meanwhile, or a message was being written. The process knows the streams
//     that were dropped meanwhile (Files).
//   - Any replica answers a read. If its groups do not fit each other, or a message is missing, the
//     leader's count: only if they do not fit either, there is a fault. A note says where a replica
//     differs from its leader.
//
// The package must not know: how the store appends. A running store passes functions (Running,
// Files).
//
// # Place
//
//	outside       cmd
//	log           engine, verify
//	servers       backup, backup/restore, embedded
//	servers     ► archive
//	servers       remote
//	shards        secretlog, tiprow
//	storage       folder, streams, tipstore, tipstore/tipfiles
//	bytes         due, fault, format, stored
package archive
