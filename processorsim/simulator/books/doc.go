// Package books is the state of the six simulated processors: their operations and answers, and the
// captured and refunded amounts of every authorization (D13, D14.16).
//
// It is a small event-sourced ledger. Each verb has a decider (the answer to a request) and a fold
// (the change by the answer) in one file: authorize.go, complete.go, capture.go, void.go,
// refund.go, adjust.go. The record of a decision is appended to the journal and folded at once; a
// start runs the same fold, so a restart cannot change a balance.
//
// Rules:
//   - Processor and idempotency key identify an operation. A repeat adds no line (D14.16); a repeat
//     with other contents is an error. A fenced key is refused for ever.
//   - A method returns an answer only after the answer's record is durable. Earlier records are
//     before it in the file, so no answer can outlive its causes.
//   - A PENDING operation has a due time and ends by Finish (D13: after 2 s), or by Settle
//     (D14.15).
//   - The number and the CVV of a card are not stored: an operation has the name of the card's row
//     in the table.
//
// The records of the file (books.jsonl), one JSON object a line, times RFC 3339 in UTC:
//
//	accepted  {type, at, operation: {…, answer}}   an operation and its first answer
//	finished  {type, at, id, answer}               the result of a pending operation
//	notified  {type, at, id}                       its notification was delivered, or given up
//	fenced    {type, at, processor, key}           the key is refused from now on
//	disputed  {type, at, telling: {…, dispute}}    a dispute's state and its notification (D16)
//
// Disputes are no operations: they add no line to the books and move no balance.
//
// It must not know: HTTP, faults, timers, the readers of answers.
//
// Design notes:
//   - One mutex, never held during an fsync: a decision is a few microseconds, and one order of
//     decisions is what makes the file replayable.
//   - A refusal is recorded like any answer. Otherwise a repeat could be approved after the service
//     recorded the refusal and went to the next processor.
package books
