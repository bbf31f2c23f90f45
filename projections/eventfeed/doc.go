// Package eventfeed writes the events of the log into the stream EVENTS for analysts (I2).
//
// Rules: the stream has each event once, in the order of positions, with the position as its
// sequence. Only events that a durable checkpoint covers are in it. The JSON is that of GET /events
// (package eventjson), without personal data. The feed cannot stop the ledger: when the stream
// fails, the feed reports it and tries again.
//
// The package must not know: HTTP, and how the stream stores its messages.
//
// Design notes
//
//   - The feed has no position of its own. It continues behind the newest message of the stream. A
//     message that another writer wrote first is no failure.
//   - The server reads all messages when it starts. Each connection first compares the ends of the
//     stream with the log. If a message differs, is damaged or is missing, or the log ends before
//     the stream, the stream is dropped and written again with the same sequences. So a new version
//     of the JSON replaces the old one in all messages.
//   - While it serves, the stream can be damaged, too. The server then stalls consumers, or skips
//     a message without an error, or takes all memory (package eventstream). So the feed watches
//     (watch.go): the server's own messages, the stream's state and its uncompressed blocks each
//     second, and all messages against the log, 200 a second, with ten minutes between two passes.
//     While a block is suspicious, the watch requests no message: the server would read the block.
//     A block whose size and time have not changed is read every ten seconds, which also keeps it
//     in the system's memory. A fault ends the readers' connections at once, and the stream is
//     written again from the damaged message on, or as a whole. A difference from the log is noted
//     in a file first: a start compares few messages, and must know it if the process was killed
//     before. A reader can meet damage of an uncompressed block before the watch sees it: the
//     server reads the block without a check that stops, and hands messages to readers directly.
//     Alternative: all messages through the gate, which would check them, at twice the copies of
//     each message.
//   - A stream that is written again has none of the former consumers. A reader keeps the newest
//     Ledger-Position, and makes a consumer that starts behind it.
//   - Retention drops a message some time after it was written. A stream that is written again
//     begins with the first event that is not older than the retention.
package eventfeed
