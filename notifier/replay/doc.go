// Package replay sends the webhooks of past events again: those of one endpoint, for the events of a time range (D18, D20).
//
// A replay walks over the log (events.go). For each webhook that an event causes it decides on a step (step.go): resend the
// delivery, plan the delivery that does not exist, or do nothing. It sends a chunk of deliveries at a time, a few of them
// concurrently, and records its progress after each chunk (run.go). All replays share one rate limit.
//
// # Records
//
// A replay has a record of its own in the stream of deliveries. One more record lists the open replays (open.go). A start has
// three writes (start.go): the replay's record, closed; the list; and the replay's record again, open, when the replay starts
// to run. An end has two: the replay's record, closed, and the list. So an open record is always in the list. If the process
// ends
//
//   - after a start's first write: the caller has no answer, and the replay never runs. A drop deletes its record, or a repeat with the
//     same idempotency key replaces it (repeat.go).
//   - after a start's second write: the next start of a process runs the replay.
//   - after an end's first write: the next start of a process removes the replay from the list.
//
// Any process may continue a replay: the writes are compare-and-swap, and a process that loses stops its run.
//
// The package must not know: HTTP, lanes, the sending of one delivery (Notifier does it).
package replay
