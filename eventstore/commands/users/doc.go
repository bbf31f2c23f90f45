// Package users signs dashboard users in and out, and changes what they sign in with: their
// password and their second factor (§6.1, D20). Package accounts adds, changes and removes users
// for an admin.
//
// # Sign-in
//
// A user gives a name, a password and, if the second factor is on, a code. The name is unique in
// its account only: "admin" exists in each account. So the password is compared with the verifiers
// of all users of the name, at most MaxCandidates, and decides. Every name costs the same work: as
// many comparisons as the most common name of the ledger needs, for an unknown name as well.
//
// A wrong password slows down one pair of name and source, and never the user from elsewhere
// (D22.13): strangers know the names, such as "admin", and the account's id is in each client
// token. The source is the network, /24 or /48, or a known device: a browser that has the signed
// token of a sign-in of this user in the last 90 days. The tenth failure stops the pair for 15
// minutes. A name counts as it was typed, with or without the account, whether somebody has it or
// not: so the answers do not reveal whether a name exists. A failure counts before the next
// password of the pair is compared in the same lane of package hashing.
//
// A wrong code comes after the right password, and a code has six digits only. So wrong codes from
// new devices count for the user, as events: the same on all nodes and after a restart. The tenth
// locks the user's codes on new devices for 15 minutes. Known devices and sessions have counts of
// their own. One code at a time is checked and decided about: simultaneous guesses do not outrun
// the count.
//
// A lock stops sign-ins and nothing else: a session goes on, an admin's reset of the password
// (PATCH /management/users/{id}) ends it, and so does `payledger credentials reset` on the machine
// for the account's first admin.
//
// An address, a known device or a session may make AddressTries tries at once and one more each 15
// s, on each node; a successful one does not count. An IPv6 address counts by its /64. Failures of
// a user are events for the audit log, MostRecorded at once and one more each minute: a flood does
// not fill the log. A wrong password of a sign-in is recorded after the answer: a wait for the log
// would reveal that somebody has the name. A process that ends at once may lose it.
//
// A comparison takes 64 MiB for a tenth of a second (argon2id, RFC 9106; OWASP asks for 19 MiB and
// two passes). Package hashing bounds how many run at a time, and how long others wait.
//
// Design note. The counts of pairs are in the memory of each node. The alternative is the account's
// state, as for codes: a flood from many networks would make it large, and each of its guesses an
// event. With n nodes a network has n times as many guesses.
//
// # Sessions
//
// A session is a row of the account's state and ends with it: after 12 hours, by sign-out, and by
// each change of the user's password, role or second factor, and by the user's removal. A user has
// five at most. The token names account, user and session, says when it was issued, and is signed
// with HMAC-SHA256 by a key of the ledger, so that a forged one costs no look-up. It expires an
// hour after it was issued. Session returns another one, so that a session in use goes on. Session
// reads the account's newest state: what any node acknowledged holds on every node at once.
//
// Design note. The alternative is a list of the sessions that were signed out, until they expire. A
// list of open ones is as long, bounds the sessions of a user, and fails safe: after a restore from
// a back-up no ended session comes back, and the signing key alone makes no session.
//
// # Second factor
//
// Codes are TOTP (RFC 6238): SHA-1, six digits, 30 seconds, one step of tolerance. The secret is a
// value in the stream of secrets beside the verifiers of passwords. The counter of the newest used
// code is in the state: a code, and all before it, are accepted once in the whole cluster.
//
// Who has lost the app signs in with one of eight recovery codes, each accepted once. They have ten
// digits, are shown when the second factor is turned on, and follow from its secret: they are
// destroyed with it, and nothing else is stored. The state has which were used. A wrong one counts
// as a wrong code.
//
// The package must not know: HTTP, cookies, pages.
package users
