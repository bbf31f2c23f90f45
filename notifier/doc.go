// Package notifier turns events into deliveries and sends them as signed webhooks (§5.2, §6, D17, D18).
//
//	log ──► planner ──► DELIVERIES ──► lane per endpoint ──► attempt ──► outcome in DELIVERIES
//	           │ (1) delivery durable      (2) sent              (3) outcome durable
//	           └─ (4) position written, at most every 250 ms
//
// Rules:
//   - One delivery for each event, kind and endpoint that wants it, under a name of its own. It
//     is durable before the position moves past its event; planning an event twice changes nothing.
//   - Which kinds an event causes is a table. PAYMENT.STATUS depends on facts besides: the status is compared
//     with that of the event before, as the log holds it, so planning again decides the same (§6.2, D17).
//   - At least once (§6.1 rule 4): a delivery without a recorded outcome is sent at the next start. One that
//     has an outcome is not.
//   - A webhook leaves only after GET shows at least its state (D17). It tells the state at its event; only
//     signedAt and the signature belong to the attempt.
//   - Success is any 2xx on the status line; redirects are failures and are not followed (§6.1, D18).
//   - A slow or dead endpoint delays nobody else (D18): each has its lane.
//   - Webhooks go to public addresses only, https in production, checked when an endpoint is created and
//     again on the address that is dialled (D18).
//   - An event that this build does not know stops the planner with an error that names it.
//   - Deliveries hold references: no bodies, no personal data, no secrets. The signing secret is read
//     through the vault; neither it nor an endpoint's URL is logged.
//
// The package must not know: HTTP handlers, processors, SQL, NATS (package eventstore stores the bytes).
//
// # Format
//
// Stream DELIVERIES, subjects deliveries.<accountId>.<endpointId>.<eventId>.<kind>, the kind with "-" for
// ".". A delivery's messages are its records, whole each time: the first as it was planned, one more per
// attempt; the last is what holds. deliveries.position is the planner's place, replaced each time. Both are
// msgpack maps with a schema number.
//
// # What is true if the power fails
//
//   - before (1): the event is planned again: its position was not written.
//   - after (1), before (2): the delivery stands in the stream at or after a place that the position names,
//     or after all that it names: the lane finds it there. Its event is planned again and exists.
//   - after (2), before (3): the same; the webhook is sent twice. The receiver tells by eventId.
//   - after (3): nothing is sent again, whether or not (4) came to pass.
//
// # Design notes
//
// Two synced writes per webhook, plan and outcome. The position costs four a second while events flow.
//
// The planner reads the account from the log, once per account and batch, and not from the views: a view may
// lag behind an endpoint that was made before the payment, and its webhook would be lost.
//
// The status before an event is read from the event before it (one look-up by its sequence), and only when an
// endpoint wants PAYMENT.STATUS and the table says that it depends. The answer to a payment's first request
// needs none: what was just created is PENDING. The alternative, statuses kept in memory, would be cold after
// every start and wrong after a missed event.
//
// A lane's queue is bounded without holding up the planner: what does not fit stays in the stream and is
// read back when the queue is empty. After a start every lane begins like that. Before a delivery that was
// read back is sent, its last record is looked at: one question more, and no delivery is sent for a stale
// page. The alternative, one scan that keeps all open deliveries in memory, has no bound: a dead endpoint's
// deliveries are many.
//
// Nothing is limited in the stream and a record is never deleted, so the attempts are a history. Limiting
// each subject to one message would write a tombstone per outcome.
//
// Trouble of our own (store, vault, views) is no outcome: the attempt waits and tries again, and Healthy
// tells. An attempt that is cut because the process ends is none either.
//
// HTTP/1.1 only: a connection carries one attempt, so a stuck one holds up nothing beside itself. Idle
// connections are kept for 3 s, less than common servers keep theirs: a POST on a connection that its server
// is closing would be lost.
package notifier
