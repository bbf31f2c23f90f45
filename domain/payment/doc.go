// Package payment is the payment aggregate: what may be done with a payment, and what then is true.
//
// Rules: a payment is a list of operations at processors, each requested first (the event is durable
// before the processor is called) and answered later by an event of its own (§2.1, §2.3, D14). Its
// status is derived from these facts and never stored (§3.1, D7). An answer belongs to the request
// event whose revision it names; the first answer that is final wins, and a second one is refused as
// already recorded, so that any node may bring it. Amounts are minor units of one currency; Check states
// the invariants.
//
// What it must not know: how a processor is reached, which card pays (it keeps display data only), who
// the customer is (Personal stays sealed).
//
// Design note: the creation and the first request for authorization are one event. They are one
// decision, and one durable write fewer per payment; the operation's key is "<paymentId>.1".
package payment
