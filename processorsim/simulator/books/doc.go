// Package books is the memory of the six simulated processors: what each was asked, what it answered,
// and how much of every authorization is captured and refunded (D13, D14).
//
// It is an event-sourced ledger in small. A verb has a decider (is it allowed, and what is the answer)
// and a fold (what the answer changes), side by side in one file: authorize.go, complete.go, capture.go,
// void.go, refund.go, adjust.go. The record of a decision is appended to the journal and folded at once;
// reading the file at start runs the same fold, so a restart cannot change a balance.
//
// Rules:
//   - An operation is known by processor and idempotency key. A repeat adds no line (D14); a repeat with
//     other contents is an error of the caller. A fenced key is refused for ever.
//   - Nothing is told to anyone before its record is durable: every method that answers waits for the
//     record it answers from. Later records are behind it in the file, so no answer can outlive its
//     causes.
//   - What is PENDING has a due time and ends by Finish (D13: after 2 s), or by Settle (D14).
//   - The number and the CVV of a card end here: an operation keeps the name of the card's row in the
//     table and nothing else of it.
//
// The records of the file (books.jsonl), one JSON object a line, times RFC 3339 in UTC:
//
//	accepted  {type, at, operation: {…, answer}}   an operation and its first answer
//	finished  {type, at, id, answer}               the result of a pending operation
//	notified  {type, at, id}                       its notification was delivered, or given up
//	fenced    {type, at, processor, key}           the key is refused from now on
//	disputed  {type, at, telling: {…, dispute}}    a dispute as it stands now, and how the service is told (D16)
//
// Disputes are no operations: they add no line to the books and move no balance.
//
// What it must not know: HTTP, faults, timers; who reads the answers.
//
// Design notes:
//   - One mutex, never held during an fsync: a decision is a few microseconds, and one order of decisions
//     is what makes the file replayable.
//   - A refusal is recorded like any answer. If it were not, a repeat could be approved after the service
//     took the refusal for a fact and went to the next processor.
package books
