// Package webhook decides which events cause which webhooks (§6.2, D17).
//
// A table maps each event type to the kinds of webhooks that it may cause, each with a condition.
// PAYMENT.STATUS depends on the payment's state before and after the event; all other kinds depend
// on the event type alone. Disputes have events of their own: dispute.opened causes DISPUTE.OPENED
// and DISPUTE.STATUS, dispute.changed causes DISPUTE.STATUS (D16). The triggers of workflows use
// the same table (D19).
//
// The package must not know: endpoints, payloads, the log. Package causes of the application reads
// what the conditions need.
package webhook
