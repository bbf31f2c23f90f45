// Package simulator is the server of six simulated payment processors (D13, D14.1): the processor
// protocol (processorsim/PROTOCOL.md) before durable books, and a control API that makes the
// processors misbehave on demand.
//
// The names are ADYEN, BRAINTREE, CHECKOUT, PAYPAL, STRIPE and WORLDPAY. A PENDING operation ends 2
// s later. A dispute is in its processor's own words (package dialect).
//
// # Control API
//
//	POST   /sim/faults    {"processor"?,"operation"?,"mode","rate"?,"count"?,"delayMs"?} → the fault
//	GET    /sim/faults    {"faults":[…]}, with the counts that are left
//	DELETE /sim/faults    {}
//	POST   /sim/capture, /sim/refund, /sim/void   {"reference","amount"?} → the new line; 422 when refused
//	POST   /sim/disputes  {"reference","type","reasonCode","amount"?} → the dispute
//	PATCH  /sim/disputes/{id}   {"type"?,"status"} → the dispute; impossible changes are sent, too
//	POST   /sim/settle    {"settled":N}: all that is pending ends now, and disputes open that would later
//	GET    /sim/books?reference=&processor=&from=&to=   JSON lines, one per operation, by creation
//
// Of the faults that fit an operation the first of each mode counts. drop_before: cut, nothing
// recorded. latency: the operation is running while it waits, and commits at the latest when the
// client goes away. error: recorded as FAILED, retryable. drop_after: recorded, then cut. The last
// two notification modes: duplicate_notification sends it twice; reorder holds it back until
// another has gone out, or delayMs (3000) have passed. With "operation":"dispute", drop_before
// loses a notification and latency delays it. Repeats under a known key meet drop_before and
// drop_after only.
//
// Rules: package conformance checks that the simulator keeps every promise of the protocol. Under
// its own key an authorization that waited for its customer goes on answering ACTION_REQUIRED.
// Numbers and CVVs of cards reach no file, log, answer or error text.
//
// The books of a simulator that does not run are an Archive: read, and not changed.
//
// The package must not know: the service. It imports the values of domain/processor and nothing
// above them.
//
// Design notes:
//   - A refusal by fault mode error is recorded under its key. Were it not, a repeat could be
//     approved after the service had gone to the next processor: two holds for one payment.
//   - A repeat of the card that never answers is answered: the card stands for an answer that was
//     lost, and the contract of the key is stronger.
//   - Timers are injected (Config.AfterFunc), so that tests drive the 2 s and the back-off by hand.
package simulator
