// Package notifier turns events into deliveries and sends them as signed webhooks (§5.2, §6, D17,
// D18).
//
//	event log ──► planner ──► DELIVERIES ──► lane per endpoint ──► attempt ──► outcome in DELIVERIES
//	                 │ (1) delivery durable      ▲          (2) sent              (3) outcome durable
//	                 └─ (4) position written     └──────── a failed delivery waits until it is due ◄─┘
//
// # Words
//
// A lane is the queue of one endpoint. A place is a record's address in the stream of deliveries.
// The position is the planner's progress in the event log: the address of the last planned event of
// each shard, as a record beside the deliveries (package position). The floor records the last
// dropped place and the position at that drop: the planner never plans events up to that position
// again. A node is one process on the event log. It owns deliveries under its owner id (package
// nodes).
//
// # A webhook and its retry, step by step
//
//  1. The planner reads an event, derives its webhook kinds (package webhook of domain) and finds
//     the endpoints that the account had at the event (registrations.go). For each kind and
//     endpoint the planner writes one delivery, PLANNED. The event, kind and endpoint determine the
//     delivery name, so planning again makes no delivery twice. Then the planner passes the
//     delivery to the endpoint's lane (planner.go, lane.go).
//  2. The lane passes the delivery to the dispatcher as soon as one of the lane's 16 slots is free.
//     The dispatcher takes the delivery's lock, composes the message (package message) and makes
//     one HTTP attempt (package sender) with a timeout of 10 s.
//  3. Suppose the answer is 503. Delivery.WithAttempt (package delivery) adds the attempt: the
//     delivery is FAILED, and nextAt is about 10 s later. The dispatcher writes the record with
//     compare-and-swap, and lane.moved makes the delivery wait.
//  4. At nextAt, lane.pick returns the record's place. The dispatcher reads the newest record: if a
//     person, a replay or another node has ended the delivery, there is nothing to do. Otherwise
//     step 2 repeats with a new signature.
//  5. Further retries follow after 60 s, 5, 10 and 15 minutes, each ±10 %. The sixth automatic
//     attempt is the last. If it fails, the delivery is EXHAUSTED, and stays until retention drops
//     it.
//
// # Rules
//
//   - At least once (§6.1 rule 4): after a restart the notifier repeats only attempts without a
//     recorded outcome.
//   - The record holds the time of the next attempt, so a restart does not change that time.
//     Without a cluster, overdue attempts are made at the start; in a cluster, as soon as the
//     former owner id is gone. Setting the clock back never lengthens a wait (package due).
//   - --webhook-retry-delays changes the delays.
//   - No automatic attempt follows a success (D18).
//   - A delivery that is due for a deleted or disabled endpoint is CANCELLED. The event log decides
//     this, because views may lag.
//   - A person or a replay can send any delivery again (manual.go). This attempt is recorded, but
//     does not count among the six. If it succeeds, the delivery ends.
//   - A webhook is sent only after GET (for a payment: GET /payments/{id}) returns at least the
//     state at its event (D17). The body shows the state at the event; signedAt, the signatures,
//     the endpoint, settings and erasures are as of the attempt. Disputes have webhooks of their
//     own (D16).
//   - A slow or dead endpoint delays no other (D18): each has its lane, with bounded attempts and
//     memory.
//   - An unknown event stops the notifier, retries included, with an error that names the event.
//
// The package must not know: HTTP handlers, processors, SQL, NATS (package eventstore stores the
// bytes).
//
// # Which endpoints get an event
//
// An endpoint gets the events that were appended since its registration, exactly: the planner's
// delay makes no difference. The planner uses the endpoints as they were at the event. Each change
// of endpoints (created, changed, deleted) has the address of the last event of each shard in its
// own event: EndpointsAfter, read before the change is appended. The change applies to all later
// events of the shard. So the log alone decides, with the same result on every node, after a crash,
// and if the position is lost.
//
//   - registered: the endpoint gets no event that was recorded before the call, and every event
//     after the answer.
//   - disabled, or deleted: it gets the earlier events. Those that are not sent yet are CANCELLED
//     when they are due.
//   - enabled again, or other event types: the change applies to later events only. A replay can
//     send the events in between.
//   - a replay plans what the merchant requests, also events from before the registration. It ends
//     with the log at the call.
//
// A change is appended a moment after EndpointsAfter was read. The planner may have planned an
// event of that moment already. When the planner reads the change, it plans these events again, for
// the created or changed endpoint (planAgain). A change that excludes an event of that moment
// cannot take the delivery back: the webhook was planned before the change was recorded.
//
// The times of events would not do: nodes have different clocks, and an event's time is from before
// its append. Positions would not do: within a checkpoint, the order of shards is not the order of
// appends, so an endpoint would miss events after its registration. A change of an older build has
// no EndpointsAfter; the planner then uses the newest endpoints, as older builds do.
//
// # Retention
//
// The streams DELIVERIES_<segment> keep finished deliveries for AttemptLogConfig.Retention
// (--delivery-retention). A segment is dropped as a whole when its newest record is older. A
// segment that does not fill up is closed after an eighth of the retention. A drop has these steps
// (retention.go):
//
//  1. The position is written. It must have passed every event of the segment's deliveries.
//  2. The segment's open deliveries are copied to the end of the stream, each while this node makes
//     no attempt of it. The same holds for the newest position of each reader, which is open.
//  3. The index shows all of the segment.
//  4. The floor is recorded, with the position of step 1.
//
// After step 4, the planner plans no event up to the floor's position: no webhook is sent twice,
// even if the position is lost, or the delivery's record no longer exists. The index keeps its rows
// of dropped deliveries. Only a drop deletes records, so the attempts are a history.
//
// # After a crash
//
//   - before (1): the position was not written, so the event is planned again.
//   - after (1), before (2): the stream lists the delivery as open, and the lane finds it. The
//     event is planned again, which changes nothing.
//   - after (2), before (3): the same. The webhook is sent twice, and the record has one attempt.
//     The receiver detects the duplicate by its eventId. An endpoint has at most 16 attempts under
//     way and 128 outcomes that wait to be written.
//   - after (3), success: nothing is sent again, with or without (4).
//   - after (3), failure: the lane finds the record and waits until nextAt.
//   - during a drop, before the floor: all records exist, and the copies of open deliveries count.
//   - during a drop, after the floor: the next start completes the drop.
//
// # Several nodes (Config.Nodes)
//
// Each node determines the deliveries of every event. The node that wrote the event creates them at
// once, the others create what is missing after 300 ms (package turns). The delivery names are the
// same, so exactly one node creates each delivery and owns it, until another node resends it or
// takes it over (delivery.Ownership). All nodes follow the stream and remember which other owner
// ids have open deliveries. When an owner id is gone, a node reads the open deliveries of each lane
// again, as at its start. The first node that writes its owner id into a record owns the delivery.
// No other node's clock is used, except for the time of a retry that the owner recorded. A node
// that was cut off gets a new owner id, and takes its deliveries over from its old one, like any
// other node. So two nodes make the same attempt only if the first one ended during it, as above,
// or was paused between the last check and the first byte. A person or a replay on another node can
// resend a delivery during an attempt.
//
// The position is the same for all nodes: events up to it are planned, and the stream lists their
// open deliveries. A node writes its own only if it is ahead of the stored one (package position).
// Any node may drop old segments. A node whose last indexed record was dropped meanwhile empties
// its index at its next start.
//
// # Changes while a webhook is under way
//
// An endpoint can be deleted, a secret rotated or a person erased while a webhook waits for a
// connection. The last check runs immediately before the first byte (package sender,
// Message.Fresh): the node still has the owner id under which it owns the delivery, and the
// endpoint, the secret and the personal data are as they were when the message was composed. If
// not, the delivery begins again at step 2. The check reads memory only. The call that makes the
// change is answered after Settle; a node reports a change as applied after its own Settle. An
// attempt whose first byte was written before runs on: its receiver may see the rest after that
// answer.
//
// # Design notes
//
// Figures are from one machine with two shared cores and a virtual disk under other load. They vary
// by a factor of two. go test -bench repeats them.
//
// A waiting retry takes 16 bytes (time and place) and an entry in a set. A lane holds up to 32,768
// retries (2 MB). Due retries and first attempts in memory alternate. Further retries stay in the
// stream. The lane notes the range of their places and the earliest due time. When that time has
// come and nothing in memory is due, the lane reads them back from the list of the endpoint's open
// deliveries. If retries remain, the next pass begins at the earliest 15 s later. The alternative
// was a message schedule of JetStream per endpoint. A schedule costs a synced write for each change
// of the earliest due time and saves nothing, because a start must find the due deliveries in the
// records anyway. Delayed NAKs would occupy the consumer's slots: one dead endpoint would stop all.
//
// Records that wait at the same time are written as one group with one sync. First records precede
// outcomes: many attempts of a hanging endpoint time out together, and their outcomes would delay
// the webhooks of the next event. A slot becomes free when the answer arrives, before the outcome
// is durable. Otherwise the disk's latency would limit an endpoint's rate, and outcomes would not
// share a group.
//
// A delivery with its outcome takes 233 bytes in the stream under load, 1,192 if each record is
// alone in its group, and 386 in the tip store (BenchmarkBytes). With one subject per delivery the
// server's memory would grow with their number. With one subject per segment, the heap after a
// start is 8 MiB with 1,000 finished deliveries and 13 MiB with 100,000; only caches differ
// (BenchmarkStart).
//
// BenchmarkSustained runs all parts in one process (deciding, appending, projecting, planning,
// sending, receiving with verification, recording): 4,200 to 5,400 deliveries a second to one
// endpoint, where every delivery costs four synced writes, two of them events; 5,700 to 7,200 to
// ten endpoints. With 8 attempts at once instead of 16, one endpoint could not keep up with 1,900
// payments a second. BenchmarkLatency, 200 events a second: 0.6 ms from the append to the receipt
// at the median, p99 1.7 ms. BenchmarkHanging, nine endpoints with 540 deliveries a second in
// total, compares a run in which a tenth endpoint hangs (timeouts of 1 s, ten times as many as in
// production) with a run without it: the rates differ by less than 0.1 %, and p99 is 3.7 ms instead
// of 3.6 ms.
//
// The planner reads the account from the event log, once per account and batch. A view may lag: an
// endpoint that was created before the payment could be missing there, and its webhook would be
// lost. Without a cluster the account is usually in memory.
//
// The status before an event is read from the previous event, and only when an endpoint wants
// PAYMENT.STATUS and the kind has a condition (webhook.Candidates). Statuses in memory would be
// missing after every start and wrong after a missed event.
//
// A problem of payledger's own (store, secrets, views) is not an outcome: the operation is
// repeated, and Healthy reports the problem. An attempt that is cut off by the end of the process
// has no outcome either.
package notifier
