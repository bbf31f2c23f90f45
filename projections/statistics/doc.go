// Package statistics counts payments: by day, currency, status, processor and the outcomes of their
// authorizations (D20).
//
// # Rules
//
//   - A payment counts for the day of its creation, in UTC, for ever. Its other values are those of
//     its newest event: a payment that is captured leaves the group of its old status and enters
//     that of the new one.
//   - Triggers of the table payments keep the table statistics, in the transaction that writes the
//     payment's row. So the counts are a function of the rows, after a rebuild as well, and Check
//     compares both.
//   - Sums are of one currency, in minor units. A column holds the upper and one the lower 32 bits
//     of a sum, because a thousand amounts of 2^53 − 1 do not fit 64 bits.
//   - The outcome of a payment's authorization at each processor is one number (Tries). The
//     authorization rate of a processor is the approved ones among all that the processor decided:
//     approved, declined and failed.
//
// The package must not know: the log, HTTP.
//
// # Design notes
//
// Counters instead of a scan: a group has few rows for each day, and the answer for 30 days is a
// few thousand of them, whatever the number of payments. A scan of an index over 1,000,000 payments
// takes about half a second.
//
// Triggers instead of statements: SQLite knows the old row in a trigger. A statement would have to
// read it first, through the driver, once for each changed payment.
package statistics
