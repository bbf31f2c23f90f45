// Package eventstore is the log: it appends events, loads aggregates, and hands events to readers in order.
// It stands on NATS JetStream, embedded or as a cluster, and is the only package that knows it.
//
// # Rules
//
//   - One decision is one event is one frame. Events that waited at the same moment share a message, a group (I2).
//   - A shard is one sequence of groups. Every append expects the whole sequence of its shard: a writer knows all
//     of it. Only an acknowledgement is success (D3, D8).
//   - A frame carries the aggregate's state after the event, and the tip store has the newest frame of every aggregate:
//     loading is one look-up. The whole history is a walk back along Ledger-Prev-Seq.
//   - States stay small. Finished operations leave the state of a payment; its order and its sealed customer leave with its
//     first event. The event by which something leaves carries it once, and the tip store has it as a row. A state that is
//     loaded, of the newest event or of an older one, has all that left it up to its revision; nothing is appended on one
//     that has not.
//   - Uniqueness is a claim: an aggregate whose revision 1 names its owner (D9).
//   - Nothing past the last acknowledged group is shown to anybody.
//   - Every reader checks that a group stands on the one before it, and that every event continues its aggregate. A group
//     that does not fit stops the shard: it takes no appends, and an unknown aggregate there is ErrUnhealthy, never ErrNotFound.
//   - An aggregate that a newer build wrote to is not appended to; a state that an older schema wrote is
//     folded again from the events.
//   - An event that cannot be read stops its reader; it is never skipped.
//
// What it must not know: HTTP, SQL, processors, webhooks, and why an aggregate decides as it does.
//
// # Where things are
//
//   - frame.go, group.go, compress.go: the bytes. address.go: where an event stands.
//   - shard.go: what is known of a shard. inflight.go: groups under way. resolve.go: what became of a group without a clear
//     answer. segment.go: the streams of a shard.
//   - recover.go, tips.go and package tipstore: the tip store. left.go: what left a state. load.go, groupread.go,
//     subscribe.go: reading.
//   - deliverystream.go, deliveryindex.go, deliverydrop.go: the records of deliveries.
//   - inspect.go and repair.go: a folder before its server starts. scrub.go: afterwards. disk.go: a full disk. side.go:
//     witnesses of the streams beside the log; sidesegment.go: those that never end. secretrecord.go: the bytes of SECRETS;
//     secretindex.go, secretread.go, secretdestroy.go: what is made of them. Package blocks reads the server's files.
//
// # Deliveries
//
// The plans of package notifier and their outcomes are a shard of their own, number 65,534, beside the log: streams
// DELIVERIES_<segment> with the subjects deliveries.<segment>. A record is a frame, the records of a name are a chain, and all
// rules above hold for it; but its records are no events: no checkpoint covers them, and no reader of the log sees them.
// ce-subject is <accountId>.delivery.<endpointId>.<eventId>.<kind>, or system.beside.<name> for what stands beside
// deliveries; ce-type is "open" or "settled"; ids, correlation and actor are empty; the body is the notifier's.
//
// The tip store has the newest record of every name, and the place of every open delivery by endpoint (deliveryindex.go): a
// start reads no more than what is open, and memory does not grow with the deliveries that were ever made.
//
// The oldest segment can be dropped as a whole (deliverydrop.go), after everything open in it was copied forward and every
// reader has passed it. A record, the floor, says so first: it names the last group that went, and up to where in the log
// events plan nothing. A power failure before the floor is acknowledged: nothing was dropped. After it: the records are gone
// for everybody, and the next start removes what is left of them. Segments that are missing without a floor are damage.
// The predecessor of a record may have been dropped: the first remaining record of a name may have any revision. Its group's hash still covers it.
//
// # Byte layout
//
// Shards 0 … n−1, n fixed when the log is made. The shard of an aggregate is FNV-1a (64 bits) of its id, modulo n. A
// shard's segments are streams LEDGER_<shard>_<segment>, from 1, with the subject ledger.<shard>.<segment>; sequences go
// on from one to the next. A message is a group; numbers are big-endian:
//
//	 4 bytes  "PLJ1"
//	 1        kind: 0 events, 1 fence (no event), 2 closing (the last of its segment); + 0x80 if a witness follows
//	 1        compression of the frames: 0 none, 1 zstd with dictionary1.zstd
//	 2        number of frames: 1 to 256 for kind 0, else 0
//	 4        bytes of the frames before compression
//	 2        shard; 65,534 for deliveries
//	16        id of the log
//	 8        sequence of the group
//	 8        events of the shard before the group
//	 8        aggregates of the shard before the group
//	32        hash of the group before; zeroes for the first
//	42        the witness, if there is one: 2 bytes shard, 8 sequence, 32 hash of that shard's newest acknowledged group;
//	          of the next shard (deliveries come after the last one), or, where several write to one server, of the group's own: readers then need no fence
//	 …        the frames; of a closing group the number of the next segment (4 bytes)
//	 8        check: the beginning of the group's hash, which is SHA-256 over all bytes before
//
// A frame is the length of its text (4 bytes), the length of its body (4 bytes), the text, the body. The text is these
// lines, each "name:value\n", in this order:
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
//	Ledger-Command-Id      UUID of the request that led to the event
//	Ledger-Correlation-Id  joins what belongs to one request from outside
//	Ledger-Actor           the caller
//	Ledger-Prev-Seq        where the aggregate's event before stands: <sequence>.<frame>, frames from 0; 0 for the first
//	Ledger-Hash            64 hexadecimal digits, see below
//
// Body: a msgpack map of "event", "state" (the aggregate after the event) and, where something left the state with the
// event, "left", in this order (testdata/left.hex is one). Maps with keys sorted by bytes, structs in the order of their
// fields, the shortest form of every integer, times as msgpack's own timestamp (extension −1), absent values left out.
// testdata/golden holds an example of every event; a file there never changes. testdata/layout.py reads a group of each kind in testdata/group.json.
//
// # Hash chain
//
// Ledger-Hash is SHA-256 over, with nothing in between:
//
//	32 bytes   the hash of the aggregate's event before; zeroes for the first
//	12 lines   "name:value\n" for each line above, in the order above, Ledger-Prev-Seq and Ledger-Hash left out
//	1 byte     "\n"
//	the rest   the body
//
// The 12 lines of the first vector in testdata/hash.json are
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
//	for v in json.load(open("testdata/hash.json")):
//	    lines = "".join(f"{name}:{value}\n" for name, value in v["headers"])
//	    text = bytes.fromhex(v["previous"]) + lines.encode() + b"\n" + bytes.fromhex(v["body"])
//	    assert hashlib.sha256(text).hexdigest() == v["hash"]
//
// # Checkpoints
//
// Streams CHECKPOINTS_<segment>, from 1, with the subject checkpoints.<segment>.c; sequences go on from one to the next.
// checkpoint_bytes.go describes the message. Checkpoint k covers the events of the groups after
// checkpoint k−1 up to its last group of shard 0, then of shard 1, and so on; within a group, frames count in their
// order. An event's position is its number in that order, from 1. Leaf position−1 of the Merkle tree (RFC 6962) is
// SHA-256(0x00 ‖ event hash), an inner node SHA-256(0x01 ‖ left ‖ right); root is the tree's. The edge holds the roots of
// the complete subtrees from left to right, under the numbers of golang.org/x/mod's tlog: all that the next checkpoint
// needs. At least one checkpoint in 256, and one in 262,144 events, has it. The signature is the last line of a signed note
// (Ed25519) over
//
//	payledger\n<size>\n<root in base64>\nshards <last group of shard 0> <of shard 1> …\nevents <number in shard 0> …\n
//
// A checkpoint that covers no event may follow another: a copy that makes the one before it durable.
//
// # Secrets
//
// Streams SECRETS_<segment>, from 1; sequences go on from one to the next. secretrecord.go describes the message: a value with
// its name, or a destruction that names sequences. The first value of a name counts until a destruction names it; a later
// one that meets it is surplus, and destroyed. So the stream alone decides, on every node alike, and two nodes need
// no lock to create a name: after its acknowledgement each reads what came before it. The index in the tip store says where
// the value of a name stands, and its digest: a message that was swapped is seen, as a sequence is that has no message
// although no destruction names it.
//
// One destruction, and a power failure after each step:
//
//  1. A message that names the sequences and the name is durable. Failure: the value cannot be read any more; the next start
//     goes on here. On several nodes the next cleaning of any node does.
//  2. The index knows the message, and is synced. Failure: the same; a start does not take the value for lost.
//  3. The server deleted the value, or purged the cards of a minute, whose key was destroyed before. Failure: the next start
//     deletes again, finds nothing, and goes on.
//  4. The index forgets the value. Failure: the same.
//
// # One append, and a power failure after each step
//
//  1. A draft was made on the newest acknowledged event of its aggregate, and waits. Failure: nothing was recorded.
//  2. The next group took it and was published with the sequence it expects. Failure: the group stands in the log as a
//     whole, or not at all. If it stands, the next start makes it durable with a fence and applies it.
//  3. The group was acknowledged, and so were all before it: it is on the disk. It is applied to the tips in memory, the
//     callers are answered, and readers see it. Failure: the next start reads it again.
//  4. Within a second tips, what left states, and the applied place are written to the tip store in one batch, and
//     synced. Failure before: they are made up from the log. From now on a log that lacks the group is refused.
//
// # One payment, and a power failure after each step
//
// Steps in the order of package commands; "durable" means a PubAck after the disk's sync.
//
//  1. Session and instrument were read, everything was checked. Failure: nothing was recorded, the caller
//     has no answer, a repeat starts anew. A key for personal data may stand unused in SECRETS.
//  2. instrument.used is durable: the token belongs to this payment id, which was derived from the
//     idempotency key or the token (D9). Failure: no payment exists, nothing was sent. A repeat derives the
//     same id, finds the claim its own and goes on; any other payment with this token is refused. Without a
//     repeat the card becomes unreadable when the session's client token expires.
//     A payment that the customer's browser asks for is named by its session first (session.payment_started): a session has
//     one that lives. Failure between the two: a repeat goes on; a payment with another card takes its place, after the
//     first event of the one that is missing was taken by payment.key_claimed, so that it can never be made (D12).
//  3. payment.created is durable: the payment exists, with its request for authorization under the key
//     "<id>.1". Failure, even with its PubAck lost: the next start finds a request without an outcome, asks
//     the processor by the key, hears "never seen", and sends it under the same key while callers could
//     still wait, else has the key fenced and records the failure (D8). A repeat of the request with the
//     key is answered IdempotencyKeyAlreadyExists with this payment.
//  4. The processor was called. Failure before, during or after: as after step 3. If the processor has the
//     operation it answers by the key what it did the first time, so the money is held once.
//  5. payment.authorized (or declined, failed, pending) is durable: the outcome is a fact, webhooks may go
//     out. Failure: the recovery finds the outcome and does nothing. Two nodes that recover at once:
//     the compare-and-swap takes one outcome, the other reads it. A time-out that was recorded before an
//     answer stays in the history; the answer follows it.
//  6. The card is not needed any more: its own value is overwritten, or the key of its minute is destroyed
//     within minutes. Failure: the card is still encrypted on the disk; the next cleaning destroys it,
//     since the payment no longer needs it.
//
// # One approval, and a power failure after each step
//
//  1. The attempt and its session were read, and the payment that would come of them was checked. Failure:
//     nothing was recorded; the attempt waits.
//  2. attempt.approved is durable, with the revision of the session that was approved. It arbitrates: an abort
//     finds it and is refused, a further approval is answered the same. Failure: the next start finds a
//     decision that is not completed, and makes the payment from that revision, whatever was changed in the
//     session since; so does a repeat. The payment's id is derived from the attempt's, so there is one payment.
//  3. instrument.used, payment.created and what follows: as above.
//  4. attempt.completed is durable: the answer to the customer has the payment's id. Failure: the next start finds the
//     payment there, and records this alone.
//
// A payment that is refused for good is given up first (payment.key_claimed takes the place of its first event, unless it
// was made after all), then attempt.refused ends the attempt. Failure between the two: the next start finds the place
// taken, and records this alone.
//
// An attempt is durable before its session names it; one that a crash left without that name cannot be approved.
// An abort goes the same way: attempt.aborted, then instrument.invalidated, then attempt.completed.
//
// # One vaulting, and a power failure after each step
//
//  1. With verify: instrument.verification_requested is durable, the processor is called under the key
//     "<reference>.<revision>", the reference being derived from the token. Failure: nothing is vaulted; a
//     repeat asks what became of that key. It moves no money.
//  2. instrument.vaulted is durable; after a payment that asks for it, payment.authorized was before. Failure: the
//     card as it was entered is still there, because the janitor asks before it destroys one, expired or not, and
//     completes what the payment or the vaulting asks for.
//  3. The card's copy without its CVV is durable in SECRETS. Failure: nothing is left to do but to destroy
//     the card as it was entered, which the janitor does.
//
// # One capture, and a power failure after each step
//
// Voids, refunds, adjustments and completions go the same way.
//
//  1. The payment was loaded and the capture decided on it. Failure: nothing was recorded.
//  2. With an idempotency key: payment.key_claimed is durable at the id that the key derives, and names the payment (D9).
//     Failure: a repeat of the request finds the claim and continues. The key can never be used on another payment; it
//     counts as used on this payment when the payment's own state says so.
//  3. payment.capture_requested is durable. If another event came first, the capture is decided again on the newest state.
//     The amount is reserved, and no other operation starts before this one has an answer. Failure, even with its PubAck
//     lost: the operation is found without an outcome and completed as in step 3 above, under the key "<id>.<revision>". A
//     repeat of the request is answered IdempotencyKeyAlreadyExists. A capture that our own rules refuse ends here, as
//     payment.capture_refused: no processor is called.
//  4. The processor was called. Failure: the same; the money is taken once, however often the call is repeated.
//  5. payment.captured (or _failed, _pending) is durable. Failure: nothing is left to do. A pending capture
//     gets its outcome from an enquiry or from a notification; the first is recorded, the other changes
//     nothing. An answer that makes something else necessary (the next processor, a void that was intended,
//     an automatic capture) requests it in the same event: there is no step between them to fail in.
//
// # Design notes
//
// A shard's sequence is the compare-and-swap, and not an aggregate's subject: the server keeps an index of every subject in
// memory for ever (some 100 bytes each), reads all of it at a start, and syncs one event at a time. Who appends behind
// group N has applied everything up to N, so claims, revisions and conflicts are decided here, by the tips. The server no
// longer referees them: every reader does, by revisions, hashes and counts.
//
// A wrong-last-sequence answer is not a conflict: it comes to the writer itself when its first publish went through and
// the answer was lost. So everything but an acknowledgement or a definite refusal is unknown: what stands at the place is
// read at the leader. Our own bytes there: on several replicas they are stored; on one, the next acknowledgement covers
// them. Another group: ours can never be stored, and its events are decided on again. Nothing: the same bytes are
// published again, of which at most one can be stored. At the deadline the answer is ErrUnknown, and the next group for
// the place settles it. Definite refusals are: nobody takes the publish, 10002, 10023, 10054, a message above
// max_payload, and 10077 on one replica.
//
// The expectation names a number and not what stands there: a second group in flight can be acknowledged on top of another
// writer's. So each group carries the hash of the one before it, and only the sole writer of a locked folder has two in
// flight, the second when many events wait. A group that was acknowledged on top of somebody else's stops the shard.
//
// Durability on one replica. The embedded server shows a message before its sync, and keeps showing one whose sync failed,
// without answering. So what was read counts only after a later acknowledgement: of our next group, or of a fence. An
// embedded server that has not answered for 8 s has lost its disk: Fatal, the process stops.
//
// The server cuts a file at its first bad record when it starts, trusts its index where it has one, and leaves out a
// stream whose description is damaged. So a folder is inspected first, and refused unchanged when it is damaged. A torn
// tail is copied before the server cuts it. Three faults of its own are mended or avoided: a description without its
// checksum, an index that was written when its block was empty, and sealing, which rewrites a description in two steps:
// a closed segment of one replica is not sealed.
//
// All secrets share a subject (the cards of a minute have one of their own while they stand, so that they are purged at once):
// a subject each cost the server some 100 bytes of memory for ever. A compare-and-swap is not needed, because the stream's order
// decides. Destructions are messages and not entries of the index, because the index can be lost.
//
// After a kill the server reads each stream whole that was written to, or deleted from, since it wrote its index last. So the
// streams beside the log that never end have segments of 64 MiB, too; only the sole writer begins one, when nothing is under
// way. Of a segment whose index the server will believe, a start reads the newest block alone.
//
// The tip store is written once a second, without a log of its own: the log of events is one.
//
// A part that left a state is a row of the tip store under the aggregate and the revision, written in the same batch as the tip.
// Until then it is in memory. A look-up reads both, up to the revision of the state, and compares the number with the
// state's totals; where rows are missing, because an older schema wrote the events before, all events are folded. Of what
// left a state only the cache of newest events keeps more than 4 KiB in memory; older events of the aggregate take it from
// there. The sealed customer is random bytes, which no compression shrinks: repeated in the state of each event, with the
// order, it made the 8 events of a payment with all fields filled 9.1 kB of the log; now they are 6.4 kB (TestBytes). Before, 731 captures of one payment took 93 MB of the
// log; now a capture with its key takes 2.7 kB on the disk, the 500th as the 10th (TestManyCaptures: 6.8 kB before
// compression). Considered: rows that name places in the log (reading one event reads its group, so 500 operations would
// read 500 groups); sums alone (a notification about an operation that left, a refund of one capture, an idempotency key
// and the Payment JSON need the operations themselves).
//
// Decoding believes no length. A damaged body that claims four gigabytes made the msgpack library ask for
// them; every value is walked over first (wire.go). Whole numbers in metadata come back as int64: the
// library gave uint64 for those above 127.
//
// Not used: message ids (a window of two minutes, not idempotency) and the expected last message id (one
// mismatch stops a replicated stream for good). A test looks for both headers.
package eventstore
