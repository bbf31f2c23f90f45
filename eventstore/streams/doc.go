// Package streams has the kinds of the log's shards, and the names of their streams, the segments.
//
// A shard holds events of the log, or the records of deliveries beside it. Kind has everything that
// is special of the two; the package comment of eventstore has the layout. The package knows no
// server and no file; package sidelog names the streams beside the log that are no shards.
//
// # Place
//
//	outside       cmd
//	log           engine, verify
//	servers       archive, backup, backup/restore, embedded, external, remote
//	streams       secretlog
//	streams     ► streams
//	streams       deliverylog, sidelog
//	bytes         format
package streams
