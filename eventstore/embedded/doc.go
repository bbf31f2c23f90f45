// Package embedded runs a JetStream server inside this process. Before the server starts, the
// package locks, inspects and repairs the server's folder.
//
// The server syncs every write before it acknowledges the write. The package must not know events:
// package archive inspects the folder, and package folder repairs it.
//
// # Place
//
//	outside       cmd
//	servers       backup/restore, ceiling
//	servers     ► embedded
//	servers       archive
//	shards        secretlog
//	storage       disk, folder, jetapi, streams
package embedded
