// Package engine is the log on JetStream: it implements eventstore.Store. The comment of package eventstore has the rules, the bytes, the
// order of events and the reasons; this one says where they are implemented.
//
// # Where things are
//
//   - store.go: opening and closing. execute.go: commands. shard.go: the state of a shard.
//   - queue.go: drafts and readers that wait, and when the next group leaves (package pace: on several replicas). send.go: making and sending a
//     group. flight.go: the groups without an acknowledgement. resolve.go: groups without a clear answer. segment.go, streams.go, package streams: the streams of a shard. continuity.go: that a group follows the
//     group before it, and an event its aggregate's.
//   - Package ownership: which node of a cluster appends to a shard, and answers reads from memory. owner.go: that node; handover.go: the
//     others. Package handover: their messages.
//   - Package applied: the memory of a shard. recover.go, packages tipstore and tiprow: the tip store. load.go, continuity.go, groupread.go,
//     subscribe.go: reading.
//   - records.go, package deliverylog: the records of deliveries. Package checkpointlog: the checkpoints, and the order that they fix.
//     Package ordered: all events in this order. Package secretlog: the stream SECRETS. Package sidelog: the streams beside the log, and
//     the index that is their witness.
//   - Package embedded: the server in this process. Packages archive and folder: checks and repairs of its folder before it starts.
//     scrub.go: checks while it runs. watch.go: health. Package blocks: the server's files. Package disk: a full disk. Package nodes: the
//     nodes that serve a log.
//
// Few packages may import this one (house, TestEngine): each of them compiles again with every change here. All others use eventstore.Store.
//
// The package must not know: HTTP, SQL, processors, webhooks, and why an aggregate decides as it does.
//
// # Place
//
//	outside       cmd
//	log         ► engine
//	log           eventstore
//	servers       archive, backup, external, nodes
//	streams       applied, blocks, checkpointlog, deliverylog, disk, folder and 9 others
//	bytes         cache, due, fault, format, workers
package engine
