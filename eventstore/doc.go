// Package eventstore is the log: it appends events, loads aggregates, and hands events to readers
// in order. NATS JetStream stores the log, embedded or as a cluster. Only the packages in its
// folder know JetStream.
//
// # Floors
//
//	┌───────────────────────────────────────────────────────────────────────────────────────────┐
//	│ application: carries out what callers ask, calls processors, keeps secrets                │
//	│   commands/… secrets/…                                                                    │
//	└───────────────────────────────────────────────────────────────────────────────────────────┘
//	                                              ▼
//	┌───────────────────────────────────────────────────────────────────────────────────────────┐
//	│ log: the contract Store, the engine, readers of the whole log; feed decodes for clients   │
//	│   eventstore engine eventstream feed ordered position prover turns verify                 │
//	└───────────────────────────────────────────────────────────────────────────────────────────┘
//	                                              ▼
//	┌───────────────────────────────────────────────────────────────────────────────────────────┐
//	│ servers: the NATS servers and folders that hold the log, its nodes and its back-ups       │
//	│   archive backup/… ceiling embedded external nodes remote                                 │
//	└───────────────────────────────────────────────────────────────────────────────────────────┘
//	                                              ▼
//	┌───────────────────────────────────────────────────────────────────────────────────────────┐
//	│ shards: newest events, records, checkpoints and secrets; the owner of a shard             │
//	│   applied checkpointlog deliverylog handover ownership pace secretlog tiprow              │
//	└───────────────────────────────────────────────────────────────────────────────────────────┘
//	                                              ▼
//	┌───────────────────────────────────────────────────────────────────────────────────────────┐
//	│ storage: the streams of a server, its files, and the tables of Pebble                     │
//	│   blocks disk folder jetapi streams tipstore/…                                            │
//	└───────────────────────────────────────────────────────────────────────────────────────────┘
//	                                              ▼
//	┌───────────────────────────────────────────────────────────────────────────────────────────┐
//	│ bytes: frames, groups, checkpoints, proofs; small tools                                   │
//	│   cache checkpoint codec due fault format proof stored workers                            │
//	└───────────────────────────────────────────────────────────────────────────────────────────┘
//
// # Rules
//
// §, D and I with a number are rules of the contract, httpapi/CONTRACT.md.
//
//   - One decision is one event, and one event is one frame. Events that wait at the same moment
//     share a message, a group (I2).
//   - A shard is one sequence of groups. Every append names the sequence that must precede it, so a
//     writer has applied the whole shard. Only an acknowledgement is success (D3, D8); on several
//     replicas also the group itself, read from the leader.
//   - A frame carries the aggregate's state after the event. The tip store has the newest frame of
//     every aggregate: a load is one look-up. The history of an aggregate is a walk back along
//     Ledger-Prev-Seq.
//   - States stay small. Finished operations move out of the state of a payment, its order and
//     sealed customer with the first event. An event carries the parts that it moved out, and the
//     tip store has them as rows. A loaded state has all parts moved out of it; an append on a
//     state without them is refused.
//   - A unique name is a claim: an aggregate whose first event names the owner (D9).
//   - Readers see no group past the last acknowledged one.
//   - Every reader checks that a group follows the group before it, and that every event continues
//     its aggregate. A wrong group stops the shard: it takes no appends, and returns ErrUnhealthy,
//     never ErrNotFound, for an unknown aggregate.
//   - A build appends nothing to an aggregate with an event of a newer schema. It folds a state of
//     an older schema again from the events. In a cluster it writes an event in a schema that every
//     live node reads (format.Writing), or refuses it.
//   - An unreadable event stops its reader; no reader skips it.
//   - A reader gets a group of the log only if it has the hash that the group after it names, or
//     that the end of the shard has in memory (engine/groupread.go). A walk back from an
//     aggregate's tip needs no group after it: each event has the hash of the one before it, and
//     the walk checks the bytes (Previous, ReadAs). The forgeries that a read, the scrub, verify
//     and a witness notice are in httpapi/docs/guides/auditors.md.
//   - Any replica answers a read. If its groups do not fit each other, the leader's groups are
//     read: only if they do not fit either, the shard is damaged. A walk back on several replicas
//     needs the group after each event, too: it could not tell the two cases apart.
//
// The package must not know: HTTP, SQL, processors, webhooks, and why an aggregate decides as it
// does.
//
// # Where things are
//
//   - This package has the parts that users of the log need: the interface Store (log.go), windows
//     of time (window.go), commands and loads with the types of an aggregate (typed.go), the
//     aggregates and their schemas (schema.go), and the delivery of events to readers (fanout.go).
//     It must not know how the log works: it imports neither JetStream nor the tip store.
//   - Package engine is the log itself. Only programs and tests open one. Its comment has the map
//     of its files, and of the packages below it.
//   - Package format: the bytes of frames and groups, and the addresses of events.
//
// Nearly every package imports this one, and compiles again when it changes. So a line of the log's
// implementation must not stand here: with the engine in this package, a changed line made 58
// packages of the program compile again (41 s of CPU time); now it makes 2 to 9 (10 to 16 s, of
// which the link takes 7). A method that is needed above goes into the interface. A stream beside
// the log (secrets, deliveries, checkpoints) does not, because its package reaches JetStream: its
// few users name an interface of their own, as ordered.Store.
//
// # Deliveries
//
// The plans of package notifier and their outcomes are a shard of their own, number 65,534, beside
// the log: streams DELIVERIES_<segment> with the subjects deliveries.<segment>. A record is a
// frame, and the records of a name are a chain. All rules above hold for records, but they are no
// events: no checkpoint covers them, and no reader of the log reads them. ce-subject is
// <accountId>.delivery.<endpointId>.<eventId>.<kind>, or system.beside.<name> for a record of no
// delivery; ce-type is "open" or "settled"; ids, correlation and actor are empty; the body is the
// notifier's.
//
// The positions of the readers that have no store of their own, the planners of package notifier
// and of package workflows, are records of no delivery: system.beside.position.notifier and
// system.beside.position.workflows. The body is a msgpack map of "schema", 1, and "log", for each
// shard the address of the last event that the reader is done with. A record is never behind the
// one before it, in any shard (package position). A log that ends before a position has lost
// events, and its reader does not start (CheckReader).
//
// The oldest segment can be dropped as a whole (package deliverylog, floor.go). Segments that are
// missing without a floor are damage. The first remaining record of a name may have any revision:
// its predecessors may have been dropped. The hash of its group still covers it.
//
// # Byte layout
//
// Shards 0 … n−1, n fixed when the log is made. The shard of an aggregate is FNV-1a (64 bits) of
// its id, modulo n. A shard's segments are streams LEDGER_<shard>_<segment>, from 1, with the
// subject ledger.<shard>.<segment>; sequences go on from one to the next. A message is a group;
// numbers are big-endian:
//
//	at   bytes
//	  0   4     "PLJ1"
//	  4   1     kind: 0 events, 1 empty (no event), 2 closing (the last of its segment); + 0x80 if a witness follows, + 0x40 if the
//	            ends of CHECKPOINTS and SECRETS follow
//	  5   1     compression of the frames: 0 none, 1 zstd with dictionary1.zstd
//	  6   2     number of frames: 1 to 256 for kind 0, else 0
//	  8   4     bytes of the frames before compression
//	 12   2     shard; 65,534 for deliveries, 65,533 for checkpoints
//	 14  16     id of the log
//	 30   8     sequence of the group
//	 38   8     events of the shard before the group
//	 46   8     aggregates of the shard before the group
//	 54  32     hash of the group before; zeroes for the first
//	 86  42     the witness, if there is one: 2 bytes shard, 8 sequence, 32 hash. It names the newest acknowledged group of the
//	            next shard (the shard of deliveries follows the last one, and shard 0 that one)
//	  …  16     the ends of CHECKPOINTS and SECRETS, if they are there, at 86 or, after a witness, at 128: 8 bytes each. They are
//	            the newest acknowledged sequences that the group's writer knew; 0 for none. Every group of the engine has them as
//	            soon as its process knows one of them, but for the groups of checkpoints: these have neither ends nor a witness,
//	            because a checkpoint is written after the moment that it covers. The empty groups of package remote have neither
//	  …   …     the frames; of a closing group the number of the next segment (4 bytes)
//	 −8   8     check, the last bytes: the first bytes of the group's hash, which is SHA-256 over all bytes before the check
//
// On a cluster the NATS header of the message has Payledger-Node, the process that wrote the group
// (package handover). It is no part of the group's bytes: no hash covers it, and the log is
// complete without it.
//
// A frame is the length of its text (4 bytes), the length of its body (4 bytes), the text, the
// body. The text is these lines, each "name:value\n", in this order:
//
//	ce-specversion         1.0
//	ce-id                  UUID of the event
//	ce-type                payment.created, …
//	ce-source              /payledger
//	ce-subject             <accountId>.<aggregate>.<id>
//	ce-time                2006-01-02T15:04:05.000000Z: UTC, six digits
//	content-type           application/msgpack
//	Ledger-Schema          decimal, no leading zero, as all numbers here
//	Ledger-Revision        place among the aggregate's events, from 1, without a gap
//	Ledger-Command-Id      UUID of the command that made the event
//	Ledger-Correlation-Id  joins what belongs to one request from outside
//	Ledger-Actor           the caller
//	Ledger-Prev-Seq        address of the aggregate's previous event: <sequence>.<frame>, frames from 0; 0 for the first
//	Ledger-Hash            64 hexadecimal digits, see below
//
// Body: a msgpack map of "event", "state" (the aggregate after the event), "left" if parts moved
// out of the state with the event, and "origin" if a change came through the management API, in
// this order (engine/testdata/left.hex, origin.hex). origin is the client's address, for the audit
// log (D20). Maps with keys sorted by bytes, structs in the order of their fields, the shortest
// form of every integer, times as msgpack's own timestamp (extension −1), absent values left out.
// engine/testdata/golden holds an example of every event. engine/testdata/layout.py reads a group
// of each kind in group.json.
//
// # Schemas
//
// A schema is the number of the form that the events and the state of an aggregate have. Each frame
// names the schema that wrote it, and schema.go has the schemas that this build writes.
//
// Before the first release, 1.0, every schema is 1. A change of an event or a state changes the
// golden file of its aggregate (go test ./eventstore/engine -run TestGoldenBytes -update). A build
// may be unable to read the log of an earlier build: make a new one.
//
// A change of a frame or of a group's bytes is a change of the format, not of a schema. Raise
// Format in streams/streams.go: it is payledger-format in the streams' metadata, and a log with
// another number is refused before anything of it is read: in a folder, at a cluster, and by a
// back-up. Raise manifestFormat of package backup, and rename the command that gives a back-up of a
// running service its moment: a program of another format must get none. Change the first four
// bytes, PLJ1, so that no other reader takes the new bytes for the old ones. Package remote makes
// empty groups of its own (cut.go, confirm). Then change "Byte layout" above, TestEmptyGroupBytes
// and testdata/layout.py, delete testdata/group.json and testdata/frame.hex in engine, and run go
// test ./eventstore/engine -run TestLayoutVectors -update: it writes only files that are missing.
// The tests of package format stand in engine; the fields of a group are in layout_test.go and in
// export_journal_test.go, too.
//
// A field of a group that earlier groups lack can be an optional field of the header, with a bit of
// its own in the byte of the kind, as the witness has. Then Format, manifestFormat and PLJ1 stay.
// An earlier build stops a shard with an unknown bit: the field has a new level (format/header.go),
// and is written only while every live node reads it. Add a vector, and change no other one.
//
// The first release changes this:
//
//   - The format is frozen: a later build reads the bytes of frame.hex and group.json, too
//     (TestLayoutVectors).
//   - The golden files are frozen. The file of a later schema stands beside the first, and
//     TestGoldenBytes has to decode both.
//   - A change of a struct tag, a field's meaning or an event type raises the schema of the
//     aggregate. Upgrades gets a pure function for each event that has another form, one for each
//     step from a schema to the next. The store folds a state of an older schema again.
//   - If the schema only adds fields and event types, WrittenFrom lets the build write the older
//     one as long as an older node is live. It names the event types and the fields that an older
//     node would lose.
//   - A back-up, an export and a proof of an older build stay readable.
//
// No aggregate has a second schema yet. upgrade_test.go shows the whole path on an aggregate of the
// tests: upgrades of several steps, the state folded again, an older build that refuses, and both
// builds on one log.
//
// # Hash chain
//
// Ledger-Hash is SHA-256 over, with nothing in between:
//
//	32 bytes   the hash of the aggregate's previous event; zeroes for the first
//	12 lines   "name:value\n" for each line above, in the order above, Ledger-Prev-Seq and Ledger-Hash left out
//	1 byte     "\n"
//	the rest   the body
//
// The 12 lines of the first vector in engine/testdata/hash.json are
//
//	ce-specversion:1.0
//	ce-id:11111111-1111-4111-8111-111111111111
//	ce-type:payment.created
//	ce-source:/payledger
//	ce-subject:example.payment.01exampleexampleexampleexam
//	ce-time:2026-01-02T03:04:05.678901Z
//	content-type:application/msgpack
//	Ledger-Schema:1
//	Ledger-Revision:1
//	Ledger-Command-Id:22222222-2222-4222-8222-222222222222
//	Ledger-Correlation-Id:request-1
//	Ledger-Actor:key:example
//
// and with the body there its hash is
//
//	e25f65111ed4972a8a5449863faffbcf21642ef4254230834b1660aaa9da5306
//
// In another language, over both vectors:
//
//	import json, hashlib
//	for v in json.load(open("engine/testdata/hash.json")):
//	    lines = "".join(f"{name}:{value}\n" for name, value in v["headers"])
//	    text = bytes.fromhex(v["previous"]) + lines.encode() + b"\n" + bytes.fromhex(v["body"])
//	    if hashlib.sha256(text).hexdigest() != v["hash"]: raise SystemExit("another hash")
//
// # Checkpoints
//
// Checkpoints are records of a shard of their own, number 65,533: streams CHECKPOINTS_<segment>
// with the subjects checkpoints.<segment>. ce-subject is system.beside.checkpoint, ce-type
// "signed", the revision is the number of the checkpoint, and the body its message; ids,
// correlation and actor are empty. A group has at most one, so the counts in the groups lead to
// each number. Package checkpoint has the message, the text and the tree. Checkpoint k covers the
// events of the groups after checkpoint k−1 up to its last group of shard 0, then of shard 1, and
// so on; within a group, frames count in their order. An event's position is its number in that
// order, from 1. Leaf position−1 of the Merkle tree (RFC 6962) is SHA-256(0x00 ‖ event hash), an
// inner node SHA-256(0x01 ‖ left ‖ right); root is the tree's. The edge holds the roots of the
// complete subtrees from left to right, under the numbers of golang.org/x/mod's tlog: all that the
// next checkpoint needs. At least one checkpoint in 32, and one in 16,384 events, has it. The
// signature is the last line of a signed note (Ed25519) over
//
//	<origin>\n<size>\n<root in base64>\nshards <last group of shard 0> <of shard 1> …\nevents <number in shard 0> …\n
//
// The origin is the name of the key: payledger/<id of the log> in hexadecimal, or the text chosen
// at the first start. Early ledgers have the origin payledger, and no origin in their messages.
//
// # Secrets
//
// Streams SECRETS_<segment>, from 1; sequences go on from one to the next. A message (package
// secretlog) is a value with its name, or a destruction that names sequences. Within a generation
// of the master key, the first value of a name counts until a destruction names it; a later one is
// surplus, and is destroyed. A value sealed anew replaces the one that it names (secretlog,
// generation.go). So the stream alone decides, with the same result on every node. Two nodes need
// no lock to create a name: each reads the earlier messages after its acknowledgement. The index in
// the tip store has the place and the digest of each name's value. It reveals a swapped message,
// and a missing message that no destruction names.
//
// One destruction, and a power failure after each step:
//
//  1. A message that names the sequences is durable; it has the name, too, if one name alone is
//     destroyed. The index enters the message: the name leads to no value any more. Failure: no
//     name leads to the value, and its bytes are on the disk until step 3. The next start continues
//     here. On several nodes the next cleaning of any node does.
//  2. The index is synced. Failure: the same; a start does not report the value as lost.
//  3. The server deleted the value, or purged the cards of a minute, whose key was destroyed
//     before, or deleted without writing over it a value that nobody could read any more. Failure:
//     the next start deletes again, finds nothing, and continues.
//  4. The index removes the record of the sequence, and the note that its destruction had begun.
//     Failure: the same.
//
// Segments, end and dropped part are those of a shard (package secretlog, What it shares with the
// shards). After a rotation of the master key (A rotation) whole segments are dropped, so the first
// one may have any number. A durable message names them and destroys all their messages; only then
// are their streams deleted. A missing segment that it does not name is damage.
//
// # One append, and a power failure after each step
//
//  1. A draft was made on the newest acknowledged event of its aggregate, and waits. Failure:
//     nothing was recorded.
//  2. The next group contains the draft and was published with its expected sequence. Failure: the
//     log has the whole group or nothing of it. If the log has it, the next start applies it. On
//     one replica it then appends an empty group, whose acknowledgement makes the group durable; on
//     several a quorum has committed it.
//  3. The server acknowledged the group and all groups before it: they are on the disk. The store
//     applies the group to the tips in memory, answers the callers, and shows it to readers.
//     Failure: the next start reads the group again.
//  4. Within a second one synced batch writes the tips, the parts moved out of states, and the
//     applied place to the tip store. Failure before the sync: the next start makes them again from
//     the log. After the sync a start refuses a log that lacks the group.
//
// # Design notes
//
// The compare-and-swap is on a shard's sequence, and not on a subject for each aggregate. For
// subjects the server keeps an index in memory for ever (some 100 bytes each), reads all of it at a
// start, and syncs one event at a time. A writer that appends after group N has applied all groups
// up to N, so it decides claims, revisions and conflicts by its tips. The server does not check
// them: every reader does, by revisions, hashes and counts.
//
// A wrong-last-sequence answer is not a conflict: a writer gets it, too, when its first publish was
// stored and the answer was lost. So every answer but an acknowledgement or a definite refusal
// leaves the outcome unknown, and the store reads the group's place at the leader. Same bytes
// there: on several replicas the group is stored; on one, the next acknowledgement covers it.
// Another group there: the first one can never be stored, and its events return to the queue.
// Nothing there: the store publishes the same bytes again, and the server can store at most one
// copy. At the deadline the caller gets ErrUnknown, and the next group for the place settles the
// outcome. Definite refusals are: a group that the client library did not take, no server takes the
// publish, 10002, 10023, 10054 (a message above max_payload), and 10077 on one replica.
//
// An append expects a sequence number, not a group: a second group in flight can be acknowledged on
// top of another writer's group. So each group carries the hash of the group before it, and only
// the sole writer of a locked folder has two groups in flight, when many events wait. A group that
// was acknowledged on top of another writer's group stops the shard.
//
// On several replicas the owner of a shard answers a read of the newest state, and a refusal that
// rests on one, from memory, while its lease holds; other nodes ask it for its end in one message
// (package ownership). A read writes nothing. Without a lease, and with --reads=majority, a read
// waits for the acknowledgement of a group that was sent after the call. All readers of a moment
// share the group, which is the owner's next one, or an empty one of 94 to 152 bytes
// (TestEmptyGroupBytes). The leader's own answer proves nothing: a leader that lost its connections
// without noticing answers with an old state for up to 20 s. Considered: the terms of two members
// of the Raft group ($SYS…RAFTZ; 0.8 ms). It writes nothing, but needs rights on the servers'
// system account at every node, and rests on a page made for monitoring. Three servers on two cores
// (BenchmarkLatest): 5 µs at the owner; 1.9 ms by a group, or 83 µs each for 64 readers, with one
// group for 31 of them.
//
// The group after it costs a second look-up, at the same time, for an event that is read alone: 150
// µs instead of 100 µs. Reads in order keep the group that they read ahead, and a payment's history
// needs none: 0.4 ms for 4 events that are not in memory, as before (BenchmarkHistory, two busy
// cores). Considered: the hash of each group in memory (32 bytes a group, for ever); the leaves of
// the checkpoints (a root covers all of them: a look-up would read the whole checkpoint).
//
// Durability on one replica. The embedded server shows a message before its sync, and also if the
// sync failed; then it does not answer. So a group that was read counts only after a later
// acknowledgement: of the next group, or of an empty one. An embedded server that has not answered
// for 8 s has lost its disk: Fatal delivers the error, and the process stops. The first group after
// a silence may take 5 s more: the guard looks at the newest block before the group is sent
// (package folder).
//
// When it starts, the server cuts a file at its first bad record, trusts its index where it has
// one, and leaves out a stream whose description is damaged. So a folder is inspected first, and a
// damaged folder is refused unchanged. A torn tail is copied before the server cuts it, but never
// one of SECRETS: a destroyed value must not survive in a copy. Three faults of the server are
// repaired or avoided: a description without its checksum, an index that was written when its block
// was empty, and sealing, which rewrites a description in two steps (engine/segment.go).
//
// All secrets share a subject: a subject for each would cost the server some 100 bytes of memory
// for ever. The cards of a minute have a subject of their own until they are purged together. The
// stream's order decides, without a compare-and-swap. Destructions are messages, because the index
// can be lost.
//
// After a kill the server reads the whole of each stream that changed since it last wrote the
// stream's index. So SECRETS has segments, too, of 64 MiB. Only the sole writer begins one, when no
// message is under way. Of a segment whose index the server will trust, a start reads only the
// newest block, or all blocks if the newest messages are not before the clock.
//
// The tip store needs no write-ahead log: the log of events is one. A part moved out of a state is
// a row under the aggregate and the revision, written in the same batch as the tip; until then it
// is in memory. A look-up reads both, up to the revision of the state, and compares the number with
// the state's totals. Where rows are missing, because an older schema wrote the events, all events
// are folded. Only the cache of newest events keeps more than 4 KiB of such parts in memory; older
// events take them from there. The sealed customer is random bytes, which no compression shrinks:
// in the state of each event, with the order, it made the 8 events of a payment with all fields 9.1
// kB of the log instead of 6.4 kB (TestBytes). With all captures in each state, 731 captures of one
// payment took 93 MB; now a capture with its key takes 2.7 kB on the disk, the 500th as the 10th
// (TestManyCaptures: 6.8 kB before compression). Considered: rows that name places in the log
// (reading one event reads its group, so 500 operations would read 500 groups); sums alone (a
// notification about an operation that moved out, a refund of one capture, an idempotency key and
// the Payment JSON need the operations themselves).
//
// The decoder trusts no length: a damaged length of four gigabytes made the msgpack library
// allocate them, so package codec walks over every value first. Whole numbers in metadata come back
// as int64: the library gave uint64 for those above 127.
//
// Not used: message ids (a window of two minutes, not idempotency) and the expected last message id
// (one mismatch stops a replicated stream for good). A test looks for both lines of a NATS header.
package eventstore
