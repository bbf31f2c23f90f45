// Package faulttest damages the files of a log in every way that it knows, while it is stopped and
// while it runs, and checks that no damage is answered wrongly: each is noticed at the start, by a
// read or by the scrub, or is harmless.
//
// # Rules
//
//   - A refused start has changed no byte.
//   - A read that meets damage says so (ErrUnhealthy). It never says that something does not exist.
//   - Harmless means: after a scrub and a restart every answer is byte for byte as before.
//
// Its only code outside tests is Records, for other tests. The number of faults, their kind and the
// seed are flags; the seed is always printed.
package faulttest
