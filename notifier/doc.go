// Package notifier turns events into deliveries and sends them as signed webhooks (§5.2, §6, D17, D18).
//
//	log ──► planner ──► DELIVERIES ──► lane per endpoint ──► attempt ──► outcome in DELIVERIES
//	           │ (1) delivery durable      ▲          (2) sent              (3) outcome durable
//	           └─ (4) position written     └──────── a failed one waits until it is due ◄─┘
//
// Rules:
//   - One delivery for each event, kind and endpoint that wants it, under a name of its own. It
//     is durable before the position moves past its event; planning an event twice changes nothing.
//   - Which kinds an event causes is a table. PAYMENT.STATUS depends on facts besides: the status is compared
//     with that of the event before, as the log holds it, so planning again decides the same (§6.2, D17).
//   - Disputes are told by their own events, of an aggregate of their own: DISPUTE.OPENED and DISPUTE.STATUS with
//     dispute.opened, DISPUTE.STATUS with dispute.changed (D16).
//   - At least once (§6.1 rule 4): an attempt without a recorded outcome is made again at the next start. One that
//     has an outcome is not.
//   - Up to six automatic attempts, 10 s, 60 s, 5, 10 and 15 minutes apart, each ±10 % (D18; --webhook-retry-delays).
//     The time of the next stands in the record, so a restart changes nothing about it; one that became due while the
//     process was down is made at the start. A clock that is set back makes no wait longer than its delay (package due). No
//     automatic attempt comes after a success, whoever made that.
//   - After the last one the delivery is EXHAUSTED, and kept. One that is due for an endpoint that was deleted or
//     disabled is CANCELLED. A person or a replay can have any of them sent once more (Resend): that attempt is
//     recorded, is none of the six, and ends the delivery if it succeeds.
//   - A webhook leaves only after GET shows at least its state (D17). It tells the state at its event; only
//     signedAt and the signatures belong to the attempt.
//   - Each attempt is signed anew, with the secret that is current then and, for 24 hours after a rotation, with the
//     one before it as well, unless that is destroyed already (§5.2 rule 3, D18); the record names them.
//   - What is cancelled goes by the log, not by views, which may lag behind an endpoint that was enabled again.
//   - Where several processes share a log (Config.Shared), one of them sends each delivery: see turns.
//   - Success is any 2xx on the status line; redirects are failures and are not followed (§6.1, D18).
//   - A slow or dead endpoint delays nobody else (D18): each has its lane, with bounded attempts and memory.
//   - Webhooks go to public addresses only, https in production, checked when an endpoint is created and
//     again on the address that is dialled, in whatever form it is written (D18).
//   - An event that this build does not know stops the planner with an error that names it.
//   - Deliveries hold references: no bodies, no personal data, no secrets. The signing secret is read
//     through the vault; neither it nor an endpoint's URL is logged. Of an answer the first 512 bytes are kept,
//     unless they repeat the webhook, personal data in it or a secret, be it escaped for JSON, HTML or URLs, or cut.
//
// The package must not know: HTTP handlers, processors, SQL, NATS (package eventstore stores the bytes).
//
// # Format
//
// The records of deliveries stand in the streams DELIVERIES_<segment> (package eventstore), under the names
// <accountId>.<endpointId>.<eventId>.<kind>, the kind with "-" for ".". A delivery's records are whole each time: the first
// as it was planned, one more per attempt; the last is what holds. The planner's place is the position "notifier" in the
// stream POSITIONS. A record is a msgpack map with a schema number. Schema 2 of a delivery:
//
//	status    PLANNED (no automatic attempt yet), FAILED (the next is due at nextAt), SUCCEEDED, EXHAUSTED, CANCELLED
//	attempts  number, startedAt, durationMicros, statusCode, failure, manual, excerpt, keys
//	nextAt    only while FAILED
//	sender    of several processes: the one that tried it last, or took it over at takenAt
//
// Schema 1 had no retries: its FAILED reads as EXHAUSTED. A delivery's id for the outside is 26 characters of the
// SHA-256 of its name.
//
// # Retention
//
// Deliveries that are over are kept for LogConfig.Retention (--delivery-retention), and until their segment of the stream is
// dropped: when its newest record is older than that. A segment that does not grow full is closed after an eighth of it. A
// segment is dropped in this order (retention.go): what is open in it is copied forward, while none of its attempts is under
// way; the planner's place is written and has passed every event that the segment is about; the index of deliveries shows all
// of it; then the floor is recorded, with that place. From now on events up to it plan nothing, so that a position that is
// lost, or a name that is free again, sends nothing twice. The index goes on showing what it has of dropped deliveries.
//
// # What is true if the power fails
//
//   - before (1): the event is planned again: its position was not written.
//   - after (1), before (2): the delivery is listed as open: its lane finds it there. Its event is planned again and exists.
//   - after (2), before (3): the same; the webhook is sent twice, and that attempt counts once. The receiver tells by
//     eventId. Of one endpoint these are at most 8 attempts under way and 128 whose outcomes were being written.
//   - after (3), success: nothing is sent again, whether or not (4) came to pass.
//   - after (3), failure: the lane finds the record as above, and waits until nextAt.
//   - while a segment is dropped: before the floor nothing is gone, copies of open deliveries are what holds; after it a start
//     goes on.
//
// # Several processes
//
// Each plans every event, under the same names, so that one of them makes each delivery. It sends it, and whoever tried
// it last tries it again. All follow the stream: what another process has open waits here as well, until two timeouts
// and 10 s (30 s) after it was due. Then the first to write so in the record takes it over. A process that is late by
// half of that with a delivery of its own writes so too, so that of a slow endpoint, whose deliveries wait long, none is
// sent twice. Twice is sent what was under way where a process died, as above; and what a process sends that stood still
// for a quarter of a minute just before, or whose clock differs by as much. Without turns two processes sent 427 to 505
// webhooks of 300 events to an endpoint that takes 30 ms; with them 300.
//
// The position is one record, which any of them writes. It holds for all: what it has passed is planned, and the stream lists
// what is open of it, whoever planned it. Any process drops old segments. The index of a process that stood still meanwhile is
// made anew.
//
// # Design notes
//
// Figures are from one machine with two shared cores and a virtual disk; others worked on it, so they scatter by a
// factor of two. go test -bench repeats them.
//
// Retries wait in memory, by place and time alone: 16 bytes and their entry in a set, and are read again when they are
// due. Up to 32,768 a lane, 2 MB; what is more stays in the stream, and the lane notes between which places and when
// the first is due. It is read back then from the list of the endpoint's open deliveries, at most every 15 s, so that such a
// retry may come 15 s late. The alternative was a message schedule of JetStream for each endpoint as its wake-up: it
// costs a synced write for each change of the earliest due time, and brings nothing, since what is due has to be found
// in the records after a start anyway. Delayed NAKs would hold the consumer's slots: one dead endpoint stops all.
//
// A record is read again before it is sent, unless it was planned here a moment ago: a manual attempt or another
// process may have ended the delivery. Of one delivery one attempt is made at a time, manual ones included.
//
// A lane has 8 attempts under way. A slot is free again when the answer is there, not when it is on disk: else one
// endpoint's rate would be bounded by the disk's latency, and groups would not form. Due retries and first attempts
// take turns.
//
// Records that wait at the same moment share a group of the stream, and its sync; first records go before outcomes: a burst
// of outcomes (a hanging endpoint's attempts time out together) would hold up the next event's webhooks.
//
// A delivery with its outcome takes 233 bytes in the stream under load, 1,192 when each record is alone in its group, and 386
// in the tip store (BenchmarkBytes). Where one subject was kept for each delivery, the server's memory grew with them all;
// now 1,000 and 100,000 deliveries that are over start with the same heap but for caches (8 and 13 MiB, BenchmarkStart).
//
// An event that was just planned is not read from the log again, and what it renders to is made once for all
// endpoints; the newest 2,048 are kept, at most 16 MB of them. Its personal data is opened for each attempt nevertheless: once erased it is sent no more. Signing
// secrets are kept for a minute.
//
// BenchmarkSustained, all of it in this process (deciding, appending, projecting, planning, sending, receiving with
// verification, recording): 2,300 to 2,700 deliveries a second to one endpoint, where every delivery costs four synced
// writes, two of them events; 7,500 to 9,300 to ten. BenchmarkLatency, 200 events a second: 0.5 ms from the append to
// the receipt at the median, p99 1.5 to 2 ms. BenchmarkHanging, nine endpoints at 540 deliveries a second in all,
// without and with a tenth that hangs (timeouts of 1 s, ten times as many as in production): the same rate within
// 0.1 %, p99 3.8 without and 4.3 ms with.
//
// The planner reads the account from the log, once per account and batch, and not from the views: a view may
// lag behind an endpoint that was made before the payment, and its webhook would be lost. The log's only writer
// remembers it.
//
// The status before an event is read from the event before it (one look-up by its sequence), and only when an
// endpoint wants PAYMENT.STATUS and the table says that it depends. The answer to a payment's first request
// needs none: what was just created is PENDING. The alternative, statuses kept in memory, would be cold after
// every start and wrong after a missed event.
//
// Until its segment is dropped no record is deleted, so the attempts are a history.
//
// Trouble of our own (store, vault, views) is no outcome: the attempt waits and tries again, and Healthy
// tells. An attempt that is cut because the process ends is none either.
//
// HTTP/1.1 only: a connection carries one attempt, so a stuck one holds up nothing beside itself. Idle
// connections are kept for 3 s, less than common servers keep theirs: a POST on a connection that its server
// is closing would be lost. An answer's body is read for a second at most; that of 101 Switching Protocols not at
// all, as no deadline ends it.
package notifier
