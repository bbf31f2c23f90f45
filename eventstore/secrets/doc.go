// Package secrets holds what must be able to vanish, or must never be read in the log: card numbers and
// CVVs until an authorization's outcome is known, the keys of customers' personal data, webhook signing
// secrets, password verifiers, the checkpoint signer.
//
// Every value is AES-256-GCM under the master key, bound to its name as additional data, in a stream of
// its own beside the log. Personal data itself stands in the log, sealed under the key of its customer,
// or of its checkout session for a guest; destroying that one value erases the person everywhere. So do texts that
// processors sent about a payment and that nobody can tell to be harmless.
//
// The keys of a person have numbers (package domain/person). After an erasure, the person's new data is sealed under the key of
// the next number, so that a customer can come back. The log's erasure event comes before the destruction: from this event on,
// the key opens nothing, on every node that has read the event, and a number that was erased seals nothing.
//
// A card that was not used ends with its client token. A payment that began to use it in time has it until its outcome,
// for days at most: an action, a second processor and a vaulting may come after the client token's end.
//
// A vaulted card is a second value, without its CVV and without an expiry, which its token's deletion destroys
// (kept.go). The card as it was entered ends with the outcome that its CVV was for, vaulted or not.
//
// A key value is never written twice. Destroying is a secure delete: the server overwrites the value in a new copy of the file
// that it stands in, and removes the old file. No program can read the value any more; the disk below should be encrypted,
// because it may keep blocks of removed files. Only a destruction that is recorded in the stream means destroyed: a value
// that is gone without one is damage, and the log is called unhealthy. The cards of a minute are recorded together.
//
// A process keeps keys and encrypted cards that it used lately in memory. It forgets one that is destroyed before the
// destruction is answered; of one that another node destroyed it knows after two seconds, and a server of a cluster that
// was cut off, after twenty. The name of a minute's key can get another key after a destruction: what was sealed under the one before tells so
// by its first four bytes, and stays erased.
//
// Design note: a guest's key belongs to the checkout session rather than to each payment: session,
// instrument and payments of one checkout are one person, so one destruction erases all of it, and a
// payment costs one synced write less.
package secrets
