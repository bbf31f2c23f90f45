// Package streams has the kinds of the log's shards, and the names of their streams, the segments.
//
// A shard holds events of the log, or beside it the records of deliveries or the checkpoints. Kind
// has everything that is special of them, also the record that names dropped segments (Floor); the
// package comment of eventstore has the layout. The package knows no server and no file. The
// segments of SECRETS, which is no shard, have names of the same form.
//
// # Place
//
//	outside       cmd, notifier
//	log           engine, verify
//	servers       archive, backup, backup/restore, embedded, external, remote
//	shards        checkpointlog, deliverylog, secretlog
//	storage       folder
//	storage     ► streams
//	bytes         checkpoint, codec, format
package streams
