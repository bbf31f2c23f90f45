// Package notifier turns events into deliveries and sends them as signed webhooks (§5.2, §6, D17, D18).
//
//	log ──► planner ──► DELIVERIES ──► lane per endpoint ──► attempt ──► outcome in DELIVERIES
//	           │ (1) delivery durable      ▲          (2) sent              (3) outcome durable
//	           └─ (4) position written     └──────── a failed delivery waits until it is due ◄─┘
//
// # A webhook and its retry, step by step
//
//  1. The planner reads an event, the webhooks that it causes (package webhook of domain) and the account's endpoints. For
//     each kind and endpoint it writes one delivery, PLANNED, under a name that the event, kind and endpoint determine:
//     planning again changes nothing. Then it hands the delivery to the endpoint's lane (planner.go, lane.go).
//  2. The lane gives the delivery to the dispatcher as soon as one of its 8 slots is free. The dispatcher takes the delivery's
//     lock, composes the message (package message) and makes one HTTP attempt (package sender) with a timeout of 10 s.
//  3. The answer is 503, say. Delivery.WithAttempt (package delivery) adds the attempt: the delivery is FAILED, and nextAt is
//     about 10 s later. The dispatcher writes the record with compare-and-swap, and lane.moved makes the delivery wait.
//  4. When nextAt comes, lane.take returns the place of the record. The dispatcher reads the record again: if a person, a
//     replay or another process ended the delivery meanwhile, there is nothing to do. Otherwise step 2 follows again, with a
//     new signature.
//  5. After 60 s, 5, 10 and 15 minutes more, each ±10 %, the sixth automatic attempt is the last one. If it fails, the
//     delivery is EXHAUSTED, and kept.
//
// # Rules
//
//   - At least once (§6.1 rule 4): the next start repeats an attempt without a recorded outcome, and no other.
//   - The time of the next attempt is in the record, so a restart does not change it; the start makes an overdue attempt at
//     once. A clock that is set back prolongs no wait (package due). No automatic attempt follows a success (D18;
//     --webhook-retry-delays).
//   - A delivery that is due for a deleted or disabled endpoint is CANCELLED, by the log: views may lag.
//   - A person or a replay can send any delivery again (Resend). That attempt is recorded, does not count among the six, and
//     ends the delivery if it succeeds.
//   - A webhook leaves only after GET shows at least its state (D17). Its body is the state at its event; only signedAt and
//     the signatures belong to the attempt. Disputes have webhooks of their own (D16).
//   - Each attempt is signed with the current secret and, for 24 hours after a rotation, with the previous one too (§5.2
//     rule 3, D18); the record names them.
//   - Success is any 2xx status; redirects are failures (§6.1, D18).
//   - A slow or dead endpoint delays no other (D18): each has its lane, with bounded attempts and memory.
//   - Webhooks go to public addresses only (package guard, D18).
//   - An unknown event stops the planner with an error that names it.
//   - No signing secret and no endpoint's URL is logged. Records hold no bodies, personal data or secrets.
//
// The package must not know: HTTP handlers, processors, SQL, NATS (package eventstore stores the bytes).
//
// # Words
//
// A lane is the queue of one endpoint. A place is a record's sequence in the stream of deliveries. The position is the
// planner's progress in the log: the address of the last planned event of each shard. The floor is the newest place that
// retention dropped, with the position of that time. A peer is another process on the same log.
//
// # Retention
//
// The streams DELIVERIES_<segment> keep finished deliveries for DeliveryLogConfig.Retention (--delivery-retention), and until
// their segment is dropped: when its newest record is older. A segment that does not fill up is closed after an eighth of
// that time. A segment is dropped in this order (retention.go): its open deliveries are copied forward, while no attempt of
// them is under way; the position is written and has passed every event that the segment is about; the index shows all of
// it; then the floor is recorded, with that position. From then on events up to it plan nothing: neither a lost position nor
// a free name sends anything twice. The index keeps its rows of dropped deliveries. Until then no record is deleted, so the
// attempts are a history.
//
// # What is true if the power fails
//
//   - before (1): the event is planned again: the position was not written.
//   - after (1), before (2): the delivery is listed as open, and its lane finds it. Its event is planned again; it exists.
//   - after (2), before (3): the same. The webhook is sent twice, and the attempt counts once. The receiver detects the
//     eventId. An endpoint has at most 8 attempts under way and 128 whose outcomes are being written.
//   - after (3), success: nothing is sent again, with or without (4).
//   - after (3), failure: the lane finds the record and waits until nextAt.
//   - while a segment is dropped: before the floor nothing is gone, and the copies of open deliveries count; after the floor
//     the next start completes the drop.
//
// # Several processes (Config.Shared)
//
// Each process plans every event, under the same names, so one of them creates each delivery. That process owns it; later
// the process that tried it last does (delivery.Ownership). All follow the stream: a peer's open delivery waits here too,
// until two timeouts and 10 s (30 s) after it was due. Then the first process to write its name into the record takes it
// over. An owner that is late by half of that writes its name too, so a slow endpoint's long queue is not sent twice. Sent
// twice are attempts under way in a process that ended, as above, and attempts of a process that stood still for a quarter
// of a minute just before, or whose clock differs by as much. Without ownership two processes sent 427 to 505 webhooks of
// 300 events to an endpoint that takes 30 ms; with it 300.
//
// The position is one record for all processes: events up to it are planned, and the stream lists their open deliveries. Any
// process drops old segments. The index of a process that stood still meanwhile is built anew.
//
// # Design notes
//
// Figures are from one machine with two shared cores and a virtual disk under other load; they scatter by a factor of two.
// go test -bench repeats them.
//
// Retries wait in memory as 16 bytes and an entry in a set: time and place. A lane holds up to 32,768 (2 MB). The others stay
// in the stream; the lane notes between which places they are and when the first is due, and reads them back from the list
// of the endpoint's open deliveries, at most every 15 s: such a retry may be 15 s late. The alternative was a message
// schedule of JetStream per endpoint: it costs a synced write for each change of the earliest due time and saves nothing,
// because a start must find the due deliveries in the records anyway. Delayed NAKs would occupy the consumer's slots: one
// dead endpoint would stop all.
//
// A slot is free when the answer is there, before the outcome is on disk: otherwise the disk's latency would bound an
// endpoint's rate, and groups would not form. Due retries and first attempts alternate.
//
// Records that wait at the same moment share a group of the stream, and its sync. First records go before outcomes: many
// attempts of a hanging endpoint time out together, and their outcomes would delay the next event's webhooks.
//
// A delivery with its outcome takes 233 bytes in the stream under load, 1,192 if each record is alone in its group, and 386
// in the tip store (BenchmarkBytes). With one subject per delivery the server's memory would grow with them all; now 1,000
// and 100,000 finished deliveries start with the same heap but for caches (8 and 13 MiB, BenchmarkStart).
//
// BenchmarkSustained, all in this process (deciding, appending, projecting, planning, sending, receiving with verification,
// recording): 2,300 to 2,700 deliveries a second to one endpoint, where every delivery costs four synced writes, two of them
// events; 7,500 to 9,300 to ten. BenchmarkLatency, 200 events a second: 0.5 ms from the append to the receipt at the median,
// p99 1.5 to 2 ms. BenchmarkHanging, nine endpoints at 540 deliveries a second in all, without and with a tenth that hangs
// (timeouts of 1 s, ten times as many as in production): the same rate within 0.1 %, p99 3.8 without and 4.3 ms with.
//
// The planner reads the account from the log, once per account and batch: a view may lag behind an endpoint that was created
// before the payment, and its webhook would be lost. The log's only writer remembers the account.
//
// The status before an event is read from the event before it, and only when an endpoint wants PAYMENT.STATUS and the table
// has a condition. Statuses in memory would be missing after every start and wrong after a missed event.
//
// A problem of payledger's own (store, secrets, views) is no outcome: the attempt waits and repeats, and Healthy returns the
// problem. An attempt that the process's end cuts off is no outcome either.
package notifier
