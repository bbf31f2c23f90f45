// Package streams has the names of the log's streams: the segments of its shards, and of the
// records of deliveries.
//
// The package comment of eventstore has the layout. The package knows no server and no file;
// package sidelog names the streams beside the log.
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
