// Package payment is the payment aggregate: its commands, its events and the rules that lead from
// one to the other.
//
// A payment is a list of operations at processors. An operation begins with an event that requests
// it; that event is durable before the processor is called. Later events record the answers (§2.1,
// §2.3, D14.1). A Decide function takes a state and a command and returns one event or an error.
// Evolve adds an event to a state and cannot fail. Time, ids and the processor's answers arrive in
// the commands.
//
// Rules:
//
//   - Status derives the status from the operations; it is never stored (§3.1, D7). STATES.md shows
//     it, and the result of every command in every situation.
//   - An answer names the revision of the event that requested its operation. The first final
//     answer counts. For a second final answer DecideAnswer returns ErrAlreadyAnswered, so any node
//     may record an answer at any time, even twice. An answer that names another transaction than
//     the operation has is none.
//   - One operation runs at a time (D7). For any other command the Decide function returns
//     ErrRunning; the caller waits and decides again. A capture or a refund runs until the
//     processor has accepted it; a void or an adjustment runs until it is final.
//   - Some answers also request the next operation, in the same event, so that no crash can
//     separate the two: the authorization at the next processor of the route (D15), the void of an
//     intended cancellation (D7), the capture of captureMode AUTOMATIC (D5.8).
//   - The capture of captureMode AUTOMATIC takes no money of a payment that the merchant cancelled,
//     unless the processor refused a void that was requested after the approval was recorded. A
//     void that was requested before, and failed, leaves the cancellation intended: nobody knows
//     whether the processor failed it before it approved (D5.8, D7). The approval marks such a void
//     if it is open (Operation.BeforeApproval). The void that follows its failure is not marked, so
//     a cancellation is requested again once after the approval, and no further time.
//   - A completion sends the result of the customer's action to the processor. The result of the
//     completion is the result of the authorization. If the completion did not happen, the action
//     is still required. A void, or a result of the authorization from another source, also ends
//     the completion.
//   - A capture or refund above the remaining amount is recorded as a failed operation without a
//     call to the processor (D7). It uses its idempotency key and counts for the limit on failures
//     of its operation (D22.11). A command that the status does not allow records nothing.
//   - An out-of-band operation was made at the processor without a request from this ledger. When a
//     processor refuses an operation, its records are read first, and out-of-band operations are
//     recorded before the refusal (§6.3, D7). The same is done before a success that releases the
//     rest of the authorization: it may hide an out-of-band capture. An out-of-band operation is
//     never refused, and is recorded once by its id at the processor. An operation under a key of
//     this payment whose event requested no operation of its kind is one, too: it was requested
//     before the log was restored from a back-up. An out-of-band operation overtakes an operation
//     without an answer: the processor may have too little money left for the overtaken operation,
//     so Check counts the overtaken operation only after its answer.
//   - No later event can change a finished operation. The state holds the newest three of them;
//     older ones move to Past, and Totals holds their sums. So the state of a payment with hundreds
//     of captures stays small. The move changes no decision. The log stores a state without its
//     Past; package eventstore adds the Past when it loads the state. Evolve needs no Past.
//     Authorizations, operations with a fenced key and completions that may still succeed stay: the
//     processor may report their success later.
//   - An idempotency key is used when an event of the payment carries it (D9). Before that, the key
//     is claimed for the payment in an aggregate of its own, at the id derived from the key. A
//     claim is not a payment, and does not mean that the key was used. A key that created a payment
//     needs no claim: the payment's first event occupies the id.
//
// Amounts are minor units of one currency. Check states the invariants.
//
// It must not know: how a processor is called, the card's number (it has display data only), the
// customer's personal data (Personal stays sealed).
//
// Design notes. The creation and the first request for authorization are one event, because they
// are one decision; this saves a durable write per payment. The key of that authorization is
// "<paymentId>.1". A void that succeeds while a capture is pending releases the capturable amount;
// the capture keeps its own outcome. Until the capture's outcome the payment is SETTLING, because
// money may still move.
package payment
