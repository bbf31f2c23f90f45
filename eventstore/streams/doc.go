// Package streams has the kinds of the log's shards, and the names of their streams, the segments.
//
// A shard holds events of the log, or beside it the records of deliveries or the checkpoints. Kind
// has everything that is special of them; the package comment of eventstore has the layout. The
// package knows no server and no file. The segments of SECRETS, which is no shard, have names of
// the same form.
//
// # Place
//
//	outside       cmd
//	log           engine, verify
//	servers       archive, backup, backup/restore, embedded, external, remote
//	streams       folder, secretlog
//	streams     ► streams
//	streams       deliverylog
//	bytes         checkpoint, format
package streams
