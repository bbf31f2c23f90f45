// Package processor holds the requests to and answers of payment processors, and the interfaces of
// the adapter (D14.1).
//
// Every operation has its own idempotency key, "<paymentId>.<revision of its request event>", the
// same on every resend. An answer is a fact only if it was received whole and understood.
// Everything else is ErrUnknown, and a look-up by key resolves it (D8). A stated refusal is an
// answer; only a Retryable one lets another processor be tried (D15), and is no decision about a
// void (D5.8).
package processor
