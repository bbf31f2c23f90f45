// Package position keeps the progress of a reader of the log, in memory and as a record beside the
// deliveries (package deliverylog).
//
// # Rules
//
//   - Only progress that is durable elsewhere counts: a reader calls Advance after the effects of
//     events are durable. After a crash the events since the last record are read again, and their
//     effects must not happen twice.
//   - A position is one statement about all shards: everything that its events lead to together is
//     done. An event of one shard may change what an event of another shard leads to: an endpoint
//     is registered, and gets the webhook of a payment. So a record has the addresses of one node.
//     With the later address of two nodes for each shard, a start could begin behind two such
//     events although each node had one left.
//   - A record follows the reader's newest one only if no address of it is earlier. So a position
//     never moves back, whichever node writes it. A node that has passed some of the stored
//     addresses and not all of them waits until it has: it reads the same events.
//   - Put is a compare-and-swap: if another node was faster, Save compares again, a few times at
//     most.
//   - A record is written when the stored position is 1,024 events (Events) or a minute (After)
//     behind, and when the reader ends. The node that wrote the newest record writes the next one.
//     Other nodes wait twice as long, so a cluster writes as many records as one node.
//   - No node writes a record that says nothing new: an idle log gets none.
//   - The record is open, so the segment of the newest one is not dropped before the record was
//     copied forward.
//
// # Design notes
//
// Each record stays until its segment is dropped, after the retention of deliveries. So the time
// between two of them decides the space: 0.35 kB for each (TestPositionBytes). With four records a
// second of each reader, a log with a few events a second would grow by 0.24 GB a day; now it is 1
// MB. After a crash a reader reads at most 1,024 events, or those of a minute, again; twice as much
// until its process has written a record.
//
// The records had a stream of their own, which kept the newest one of each reader. It needed a
// witness, a back-up, an inspection and a scrub of its own, and the last node that wrote won. The
// shard of deliveries has all of this for its records.
//
// The package must not know: what a reader does with events. Its tests over a log stand with those
// of package deliverylog.
//
// # Place
//
//	outside       notifier
//	application   commands/workflows
//	log         ► position
//	log           eventstore
//	shards        deliverylog
//	bytes         codec, format
package position
