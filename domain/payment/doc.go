// Package payment is the payment aggregate: what may be done with a payment, and what then is true.
//
// A payment is a list of operations at processors, each requested first (the event is durable before the
// processor is called) and answered later by an event of its own (§2.1, §2.3, D14). Decide functions take a
// state and a command and give the event, or a refusal and no event; Evolve folds it and cannot fail. Time,
// ids and the processor's answers arrive in the commands.
//
// Rules:
//
//   - Status is derived from these facts and never stored (§3.1, D7). STATES.md shows it, and every command
//     in every situation.
//   - An answer belongs to the request event whose revision it names. The first one that is final wins; a
//     second one is refused as already recorded, so that any node may bring it, early, late or twice.
//   - One operation runs at a time (D7). ErrRunning makes the command wait and be decided again; a capture or
//     a refund that the processor has accepted runs no longer, a void or an adjustment does until it is decided.
//   - Some answers request what has to follow, under their own revision: the next processor of the route
//     (D15), the void that was intended while the authorization ran (D7), the capture of captureMode AUTOMATIC
//     (D5). One event, so no crash can come between.
//   - A completion answers for the authorization: its result is the authorization's, and nothing of its own
//     remains. One that did not happen leaves the action required; a result that comes from elsewhere, or a
//     void, ends it too.
//   - What our own books refuse is recorded as an operation that failed and that no processor saw (D7); it
//     uses its idempotency key and counts for the limit. What the status refuses records nothing.
//   - What was done at the processor behind our back is found in its books when it refuses an operation of ours,
//     and recorded as an operation that has its outcome, before that refusal is (§6.3, D7). Nothing refuses such a
//     fact; it is recorded once by the id that the processor gave it. An operation that is under way then is
//     overtaken: what it asks for may be gone, and does not count in Check until it is answered.
//   - Settled operations leave the state, but for the newest three: the state of a payment with hundreds of captures is as
//     small as that of one with three. An operation leaves only when no event can change it any more. So authorizations
//     stay, and operations whose key was fenced, because the processor may have carried them out all the same, and
//     completions that may still turn out to have happened. Totals keeps the sums of the operations that left, and Past
//     the operations themselves, so that every rule decides as if none had left. The log stores a state without its Past;
//     package eventstore adds the Past when it loads the state. Evolve needs no Past.
//   - A key is used by the event that it led to, and stands in the payment (D9), perhaps in what left. That it
//     belongs to this payment is claimed before, by a stream of its own at the id that the key derives: a claim is
//     no payment, and a payment that the key made is its own claim. The claim alone does not say that the key was used.
//
// Amounts are minor units of one currency; Check states the invariants.
//
// What it must not know: how a processor is reached, which card pays (it keeps display data only), who
// the customer is (Personal stays sealed).
//
// Design notes. The creation and the first request for authorization are one event: they are one decision,
// and one durable write fewer per payment; the operation's key is "<paymentId>.1". A void that is accepted
// while a part is being captured releases the rest and leaves the part to its own answer: until then the
// payment is SETTLING, because money may still move.
package payment
