// Package eventstore is the log: it appends events, loads aggregates, and hands events to readers in order.
// It stands on NATS JetStream, embedded or as a cluster, and is the only package that knows it.
//
// # Rules
//
//   - One decision is one event is one message; one literal subject is one aggregate (I2).
//   - The last message of a subject carries the state: loading is one look-up, whatever the age or length.
//     The whole history is a walk back along Ledger-Prev-Seq.
//   - Every append states the sequence it expects before it. Only a PubAck is success (D3, D8).
//   - Uniqueness is a claim: an append that expects sequence 0 (D9).
//   - Nothing that is read counts as a fact before a PubAck covers it.
//   - An aggregate that a newer build wrote to is not appended to; a state that an older schema wrote is
//     folded again from the events.
//   - A log with a hole, or shorter than its newest checkpoint or any reader's position, takes no append.
//   - An event that cannot be read stops its reader; it is never skipped.
//
// What it must not know: HTTP, SQL, processors, webhooks, and why an aggregate decides as it does.
//
// # Byte layout
//
// Streams LEDGER_0 … LEDGER_<n−1>, n fixed when the log is made. The shard of an aggregate is FNV-1a (64 bits)
// of its id, modulo n. Subject:
//
//	ledger.<shard>.<accountId>.<aggregate>.<id>
//
// Headers, each exactly once and exactly as written here; their order in the message means nothing:
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
//	Ledger-Prev-Seq        stream sequence of the aggregate's event before; 0 for the first
//	Ledger-Command-Id      UUID of the request that led to the event
//	Ledger-Correlation-Id  joins what belongs to one request from outside
//	Ledger-Actor           who asked
//	Ledger-Hash            64 hexadecimal digits, see below
//
// Nats-Expected-Last-Subject-Sequence, equal to Ledger-Prev-Seq, is stored with them.
//
// Body: a msgpack map of "event" and "state" (the aggregate after the event). Maps with keys sorted by
// bytes, structs in the order of their fields, the shortest form of every integer, times as msgpack's own
// timestamp (extension −1), absent values left out. testdata/golden holds an example of every event; a
// file there never changes.
//
// # Hash chain
//
// Ledger-Hash is SHA-256 over, with nothing in between:
//
//	32 bytes   the hash of the aggregate's event before; zeroes for the first
//	13 lines   "name:value\n" for each header above, in the order above, Ledger-Hash left out
//	1 byte     "\n"
//	the rest   the body
//
// The 13 lines of the first vector in testdata/hash.json are
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
//	Ledger-Prev-Seq:0
//	Ledger-Command-Id:22222222-2222-4222-8222-222222222222
//	Ledger-Correlation-Id:request-1
//	Ledger-Actor:key:example
//
// and with the body there its hash is
//
//	de71ca96b9e04e3555772637ed6ef79889600e6ecf14db278dac14c91ef84231
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
// Stream CHECKPOINTS, subject "checkpoints", body a msgpack map {size, lastSeq, root, signature, edge}.
// Checkpoint k covers the events after checkpoint k−1 up to its lastSeq of shard 0, then of shard 1, and so
// on. An event's position is its number in that order, from 1. Leaf position−1 of the Merkle tree (RFC
// 6962) is SHA-256(0x00 ‖ event hash), an inner node SHA-256(0x01 ‖ left ‖ right); root is the tree's. edge
// holds the roots of the complete subtrees from left to right, under the numbers of golang.org/x/mod's tlog:
// all that the next checkpoint needs. signature is the last line of a signed note (Ed25519) over
//
//	payledger\n<size>\n<root in base64>\nshards <lastSeq of shard 0> <of shard 1> …\n
//
// A checkpoint that covers no event may follow another: a copy that makes the one before it durable.
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
//     out. Failure: whoever recovers finds the outcome and does nothing. Two nodes that recover at once:
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
//  4. attempt.completed is durable: the customer is told the payment's id. Failure: the next start finds the
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
//  1. With verify: instrument.verification_requested is durable, the processor is asked under the key
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
//  1. The payment was read and the capture decided on it without recording anything. Failure: nothing
//     happened.
//  2. With an idempotency key: payment.key_claimed is durable at the id that the key derives, and names the
//     payment (D9). Failure: a repeat finds the claim its own and goes on. The key can never be used on
//     another payment; it counts as used on this one when the payment's own state says so.
//  3. payment.capture_requested is durable, decided anew on the newest state: the amount is spoken for, and
//     no other operation starts before it has an answer. Failure, even with its PubAck lost: found without
//     an outcome, and brought to one as in step 3 above, under the key "<id>.<revision>". A repeat of the
//     request is answered IdempotencyKeyAlreadyExists. What our own books refuse ends here, as
//     payment.capture_refused: no processor is called.
//  4. The processor was called. Failure: the same; the money is taken once, whoever asks however often.
//  5. payment.captured (or _failed, _pending) is durable. Failure: nothing is left to do. A pending capture
//     is asked about, or told by a notification; the first answer that comes is recorded, another is known
//     already. An answer that makes something else necessary (the next processor, a void that was intended,
//     an automatic capture) requests it in the same event: there is no step between them to fail in.
//
// # Design notes
//
// Figures are from one machine with two shared cores (Xeon, virtual disk); go test -bench repeats them.
//
// A wrong-last-sequence answer is not a conflict. 10071 comes to the writer itself when its first publish
// went through and the answer was lost; 10164 when its own first publish is still being replicated; after
// a time-out or a cut connection the event may stand, come later, or never. So each is unknown: the stream's
// leader is asked (a replica may be behind), the tip is walked down to the expected place, and the same
// command id with the same hash means success. With the tip unchanged the same bytes are published again:
// at most one of them can ever be stored, because all expect the same place. At the deadline the answer is
// ErrUnknown. Alternative: believe 10071: on three replicas that answers "conflict" for stored events.
//
// Definite refusals are: nobody takes the publish, 10002, 10023, 10054, a message above max_payload, and 10077
// on one replica. On several, 10077 can come from a leader that shuts down with the event committed.
//
// Durability on one replica. The embedded server shows an event before its sync, and keeps showing one whose
// sync failed, without answering the publish. So a reader takes an event as a fact only below a sequence
// that a PubAck named; where it must, it appends a barrier and waits for that PubAck. None in 5 s, or a
// publish without an answer for 3 s and then none for a barrier in 5 s: Fatal, the process must stop.
// Tried with EIO for every fsync: no append succeeds, no reader sees the event, Fatal after 5 s with a
// reader and 8 s with a writer alone. After a restart what the log shows is fenced before it is read.
//
// Every start reads every block. After an orderly stop the server trusts its index, and does not see two
// zeroed pages in an older block: the event there is "not found", and a claim on its place succeeds (tried).
// So the index is dropped first, and all checksums are read: 0.5 s for 200,000 payments. Damage in the newest
// block reads as a torn write: the server ends the log there, and the comparison with the newest checkpoint
// finds that. The server may cut damaged files as it starts: copy the folder before a restart.
//
// Reads that fail. A Direct Get that a replica does not answer in a second, or answers "not found" on the way
// through a history, is repeated at the leader. A subscription keeps its position itself and makes its
// consumer anew after whatever breaks it; a message that was lost on the way is told from one that the log
// has lost by asking the leader. On a replicated log damage must be seen for 20 s: so long may a leader
// that was cut off answer with an old state.
//
// Remembered events. The sole writer of a log (embedded, the folder locked) keeps its newest events in
// memory, and hands them to its subscribers from there; what it looked up at the leader it keeps as well. An
// aggregate with an append of unknown outcome is not remembered again: that append may still arrive. Nor are
// barriers, which are published past what is remembered.
//
// Shards. One-replica streams sync once per message and one at a time. Appends of 2.2 kB from 64 goroutines,
// beside plain durable publishes of the same size in the same run:
//
//	shards   events/s   plain/s   ratio
//	     1     10,800    14,000    0.77
//	     4     13,900    17,300    0.80
//	     8     14,000    16,500    0.85
//	    16     12,800    16,500    0.78
//
// Four are as fast as eight here, where two cores are the limit; eight start faster after a kill and leave
// room for disks that sync side by side. The number cannot change later, so the default is 8.
//
// Loading one of 1,000 payments takes 31 µs at the median (p99 0.16 ms), one of 200,000 45 µs (p99 0.14 ms).
//
// Decoding believes no length. A damaged body that claims four gigabytes made the msgpack library ask for
// them; every value is walked over first (wire.go). Whole numbers in metadata come back as int64: the
// library gave uint64 for those above 127.
//
// Not used: message ids (a window of two minutes, not idempotency) and the expected last message id (one
// mismatch stops a replicated stream for good). A test looks for both headers.
package eventstore
