// Package stored has messages of a stream as values, and sets of their sequences. A message is read
// from a server, from the files of a folder (package folder), or from a back-up.
//
// The package must not know: servers, files, the content of a message.
//
// # Place
//
//	servers       archive, backup, backup/restore, remote
//	shards        secretlog
//	storage       blocks, folder, jetapi
//	bytes       ► stored
package stored
