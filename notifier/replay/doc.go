// Package replay sends the webhooks of past events again: those of one endpoint, for the events of
// a time range (D18, D20).
//
// A replay walks over the log (events.go). For each webhook that an event causes it decides on a
// step (step.go): resend the delivery, plan the delivery that does not exist, or do nothing. It
// sends a chunk of deliveries at a time, a few of them concurrently, and records its progress after
// each chunk (run.go). All replays share one rate limit.
//
// # Records
//
// A replay has a record of its own in the stream of deliveries. One more record lists the open
// replays (open.go). A replay makes these writes, in this order, so an open record is always in the
// list. Each line also has the effect if the process stops before the next write:
//
//  1. the replay's record, closed (start.go): the caller has no answer, and the replay never runs.
//     A drop deletes its record, or a repeat with the same idempotency key replaces it (repeat.go).
//  2. the list with the replay: the next owner runs the replay (below).
//  3. the replay's record, open, when the replay starts to run, and again with its progress: the
//     same.
//  4. at the replay's end, its record, closed: the next owner removes the replay from the list.
//  5. the list without the replay: nothing is left to do.
//
// In a cluster the record names the owner id of the node that runs the replay (package nodes). Once
// this id is gone, or at the start of the only process, the next owner continues the replay: the
// first node that writes its own id into the record. The writes are compare-and-swap, and a node
// that loses, or gets another owner id, stops its run.
//
// # Order
//
// Deliveries begin in the order of each shard's events, and a few are under way at the same time.
// Those of one aggregate follow one another: a payment's webhook is sent when the attempts of its
// earlier ones have ended. A failed attempt holds up nothing.
//
// The package must not know: HTTP, lanes, the sending of one delivery (Notifier does it).
package replay
