// Package processor holds the values exchanged with a payment processor, and the port through which
// they travel (D14).
//
// Every operation carries an idempotency key of its own, "<paymentId>.<revision of its request event>":
// the same on every resend, another for another processor. An answer is taken as a fact only when it
// was received whole and understood; everything else is ErrUnknown, and is resolved by asking for the
// operation by its key (D8), never by guessing. A refusal that is stated is an answer; only one that is
// marked Retryable lets another processor be tried (D15).
package processor
