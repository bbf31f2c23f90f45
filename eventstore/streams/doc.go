// Package streams has the kinds of the log's shards, and the names of their streams, the segments.
//
// A shard holds events of the log, or beside it the records of deliveries or the checkpoints. Kind
// has everything that is special of them, also the record that names dropped segments (Floor); the
// package comment of eventstore has the layout. The package knows no server and no file. SECRETS is
// a shard of a kind without groups: it has the names, the floor and the end of a shard.
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
