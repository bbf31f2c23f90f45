// Package users signs dashboard users in and out, and changes what they sign in with: their password and their second factor (§6.1,
// D20). Package accounts adds, changes and removes users for an admin.
//
// # Sign-in
//
// A user gives a name, a password and, if the second factor is on, a code. The name is unique in its account only: "admin" exists in
// each account. So the password is compared with the verifiers of all users of the name, at most MaxCandidates, and decides. Every name
// costs the same work: as many comparisons as the most common name of the ledger needs, for an unknown name as well.
//
// Each failure of a known user is an event, so that every node and a restart count the same. The tenth locks the user for 15 minutes.
// A failure is recorded before the next password is compared on this node: with n nodes at most n·(Guesses-1) further passwords are
// compared while the tenth is on its way, and none of them begins a session, because the sign-in is decided on the newest state. An
// unknown name is locked in the same way, by each node for itself: so an answer of one node to
// sign-ins without an account does not reveal whether a name exists. Somebody who reaches two nodes, or knows an account's id, can find out:
// locks of users hold everywhere and for the account, those of names do not.
//
// A wrong password for a name that users of several accounts have, without the account, is nobody's failure: it counts for the name, by each
// node for itself, and locks only further tries without the account. So a stranger who tries "admin" locks out no account's admin.
//
// A lock stops sign-ins and nothing else: a session goes on, an admin's reset of the password (PATCH /management/users/{id}) ends it, and so
// does `payledger credentials reset` on the machine for the account's first admin. So nobody can lock out the only admin for ever.
//
// A client address may make AddressTries tries at once and one more each 15 s, on each node; a successful one does not count. An
// IPv6 address counts by its /64.
//
// A comparison takes 64 MiB for a tenth of a second (argon2id, RFC 9106; OWASP asks for 19 MiB and two passes). One runs at a time, Guesses
// sign-ins have begun theirs, and at most Waiting wait. More are refused. After each comparison package secrets rests, for three times
// as long, 0.3 s at most: a flood of sign-ins leaves most of an idle machine's time to payments.
//
// # Sessions
//
// A session is a row of the account's state and ends with it: after 12 hours, by sign-out, and by each change of the user's password,
// role or second factor, and by the user's removal. A user has five at most. The token names account, user and session, says when it was
// issued, and is signed with HMAC-SHA256 by a key of the ledger, so that a forged one costs no look-up. It expires an hour after it was
// issued. Session returns another one, so that a session in use goes on. Session reads the account's newest state: what any node
// acknowledged holds on every node at once.
//
// Design note. The alternative is a list of the sessions that were signed out, until they expire. A list of open ones is as long,
// bounds the sessions of a user, and fails safe: after a restore from a back-up no ended session comes back, and the signing key alone
// makes no session.
//
// # Second factor
//
// Codes are TOTP (RFC 6238): SHA-1, six digits, 30 seconds, one step of tolerance. The secret is a value in the stream of secrets
// beside the verifiers of passwords. The counter of the newest used code is in the state: a code, and all before it, are accepted once
// in the whole cluster.
//
// The package must not know: HTTP, cookies, pages.
package users
