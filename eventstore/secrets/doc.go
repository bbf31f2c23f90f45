// Package secrets stores the values that must be erasable, or that must never be in the log: card
// numbers and CVVs until an authorization's outcome is known, the keys of customers' personal data,
// webhook signing secrets, password verifiers and secrets of one-time codes (usersecret.go), the
// root of the keys that sign dashboard sessions, the checkpoint signer.
//
// Every value is encrypted with AES-256-GCM under the master key. Its name is the additional data.
// The values are in a stream of their own beside the log (package secretlog). Personal data is in
// the log, sealed under the key of its customer, or of the checkout session of a guest. Destroying
// that key erases the person everywhere. Texts of processors about a payment are sealed under the
// same key, because they may contain personal data.
//
// The keys of a person have numbers (package domain/person). After an erasure, the person's new
// data is sealed under the key with the next number, so a customer can come back. The erasure event
// is in the log before the key is destroyed. A node that has read the event opens nothing with the
// erased key, and seals nothing under it.
//
// A card that no payment uses is destroyed when its client token expires. If a payment began to use
// the card in time, the card stays until the payment's outcome, for days at most: an action, a
// second processor and a vaulting may come after the client token's expiry.
//
// A vaulted card is a second value, without CVV and without expiry. It is sealed under its
// customer's key, and then under the master key. The first byte of such a value is one that no
// value of the codec has: nodes of a version that knows cards in clear only refuse it. Deleting the
// token overwrites it. After an erasure the customer's key is destroyed, so its cards are only
// removed (kept.go): 4,000 cards took 25 s of CPU when each was overwritten, because each rewrites
// a file of the stream, and take 1.7 s. The card with its CVV is destroyed after the
// authorization's outcome, whether the card is vaulted or not.
//
// A processor's token of a vaulted card is a value of its own (cardtoken.go), sealed and destroyed
// as the card is. It can be lost: the next payment then sends the card's number.
//
// A rotation of the master key (rotate.go) seals the values anew one by one, and destroys the old
// ones. In a cluster it runs beside nodes that have both keys. A stopped data folder has both keys
// until the rotation is complete: its own keys in two files, and of keys that are kept elsewhere
// the old one, sealed with the new one (box.go, KeepPrevious). The keys of the e-mail hashes come
// from the first master key of the ledger; a rotation keeps their root as a value. The stream does
// not name the master key: a start opens the oldest value or the proof of the newest generation,
// and refuses a key that opens neither.
//
// A key is never written twice, but for a rotation. Destroying is a secure delete: the server
// overwrites the value in a new copy of its file, and removes the old file. No program can read the
// value any more. The disk should be encrypted, because it may keep blocks of removed files. A
// value counts as destroyed only if the stream records its destruction. A value that is missing
// without one is damage, and the log is unhealthy. One record destroys all cards of a minute.
//
// A node destroys the key of a minute only if it has seen the key for 105 seconds by its monotonic
// clock, and if no card of the minute came while it judged them. So a node whose time of day is
// ahead does not end a minute in which another node stores cards. It purges only the cards that it
// listed before. One case is left: if the clocks of two nodes that take cards differ by more than a
// minute, both use the key at different times, and a card that comes in the seconds of its
// destruction is lost. Its payment ends FAILED.
//
// A process caches keys and encrypted cards. It drops a cached value before it answers the value's
// destruction. A destruction by another node takes effect within two seconds, and on a server that
// is cut off from its cluster within twenty. The key of a minute may be created anew after its
// destruction. A box names its key by four bytes, so data under the destroyed key stays erased.
//
// Design note: a guest's key belongs to the checkout session, not to each payment. Session,
// instrument and payments of one checkout are one person: one destruction erases all of it, and a
// payment costs one synced write less.
//
// # Place
//
//	outside       cmd, notifier, projections
//	application   commands, commands/accounts, commands/erasures, commands/instruments, commands/payments, commands/recovery and 2 others
//	application ► secrets
//	log           eventstore
//	shards        secretlog
//	storage       disk
//	bytes         codec, format, proof
package secrets
