// Package hashing bounds the hashing of passwords in a process, so that a flood of sign-ins by
// strangers neither takes the machine from payments nor the sign-in from the users (D22.13).
//
// Rules:
//
//   - At most two passwords are hashed at a time, one in each of two lanes. One lane is kept for
//     known callers: devices on which the user has signed in before, open sessions, and API keys.
//     The other lane is for all; strangers go first there.
//   - A caller waits for at most Patience, then gets ErrBusy.
//   - The caller whose Who has not asked for the longest time is next, and the last one to be
//     refused. So a network with a single try does not queue behind networks with many.
//   - After each permit its lane rests for three times as long, at most longestRest for each hash:
//     a flood of strangers leaves three quarters of the machine's time to other work.
//
// The package must not know: users, networks, how a password is hashed.
//
// # Place
//
//	application   commands/accounts, commands/users
//	application ► secrets/hashing
package hashing
