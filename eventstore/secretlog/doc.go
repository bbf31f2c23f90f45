// Package secretlog is the stream of secrets: their bytes, by name, and their destruction.
//
// # Rules
//
//   - The stream alone decides, with the same result on every node: the first value of a name counts until a destruction names it
//     (package comment of eventstore, Secrets). Only an acknowledgement is success (D3).
//   - A destruction is durable, in the stream and in the index, before a value is deleted. A start continues it.
//   - The index has the place and the digest of each name's value. A value that is gone without a destruction, or that was swapped,
//     is damage.
//
// The stream stands beside the log, because its messages can be destroyed: no DenyDelete, no server-side encryption (both defeat
// secure delete), synced like the log. All values share a subject, so the server's memory does not grow with their number.
//
// It must not know: encryption, and the meaning of names (package secrets); events and shards.
package secretlog
