// Package deliverylog stores the records of webhook deliveries: the plans of package notifier, and
// their outcomes. The positions of the log's readers (package position) are records beside them.
//
// # Rules
//
//   - A record is a frame in a shard of its own beside the log, number 65,534 (package comment of
//     eventstore, Deliveries). The records of a name are a chain. Put is a compare-and-swap on the
//     newest record of its name.
//   - Only an acknowledgement is success (D3). Put may be repeated with the same bytes.
//   - The places of the open deliveries are in the tip store, by endpoint. So a start reads only
//     open deliveries, and finished ones take no memory.
//   - The oldest segment is dropped as a whole, and only if it holds no open record. The floor is
//     durable before anything is removed.
//   - A position is open for ever, so it is copied forward before its segment is dropped. The
//     newest one of a reader is no content of its segment: if it was, an idle log would copy it
//     from segment to segment.
//   - The body of a record belongs to its writer. This package reads none, and writes that of the
//     floor.
//
// Package engine imports this package and implements Shard. It gives the writer of the tip store
// the index of open deliveries (Index). The floor is in package streams: the restore at a start,
// the scrub and the inspection of a stopped folder need it.
//
// # Design notes
//
// The index of package deliveries (projections) has the open deliveries, too, by status and time:
// operators see their number. Lanes and Waiting do not read that one. It is a view: it lags, after
// a loss it is made again from all records, and the retries would wait for it. A fault of the view
// would lose webhooks. And the index here cannot answer the operators: the status and the time are
// in the bodies, and a count would read every open record.
//
// The package must not know: JetStream, webhooks, and how a shard appends, reads and restores its
// tips.
//
// # Place
//
//	outside       cmd, notifier, projections
//	application   commands/workflows
//	log           engine, position
//	shards      ► deliverylog
//	storage       streams, tipstore
//	bytes         fault, format
package deliverylog
