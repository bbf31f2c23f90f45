// Package secretlog is the stream of secrets. It stores encrypted bytes under names, and destroys them.
//
// # Rules
//
//   - The order of the stream decides, so every node gets the same result: the first value of a name is valid until a
//     destruction names it (package eventstore, Secrets). Only an acknowledged write is a success (D3).
//   - A destruction is durable, in the stream and in the index, before the server deletes the value. The next start completes
//     a destruction that a crash interrupted.
//   - A rotation of the master key writes every value anew into a segment of its own (rotate.go). The segment counts from one message on,
//     and then no segment before it counts; the next start deletes them. So the first segment may have any number. Files and index of a
//     deleted segment are never damage.
//   - The index holds the sequence and the digest of each name's value. A value that is missing without a destruction, or that
//     has another digest, is damage.
//
// The stream is separate from the log because its messages can be destroyed. It has no DenyDelete and no server-side encryption: both
// defeat secure delete. It is synced like the log. All values share one subject, so the server's memory does not grow with their number.
//
// The package must not know: encryption, and the meaning of names (package secrets); events and shards.
package secretlog
