// Package streams has the kinds of the log's shards, and the names of their streams, the segments.
//
// A shard holds events of the log, or beside it the records of deliveries or the checkpoints. Kind
// has everything that is special of them; the package comment of eventstore has the layout. The
// package knows no server and no file; package sidelog names the streams of secrets, which are no
// shards.
//
// # Place
//
//	outside       cmd
//	log           engine, verify
//	servers       archive, backup, backup/restore, embedded, external, remote
//	streams       secretlog
//	streams     ► streams
//	streams       deliverylog, sidelog
//	bytes         checkpoint, format
package streams
