// Package statistics counts payments: by hour, currency, status, processor, card network, country
// of the issuer, reason of a refusal and 3-D Secure. It also counts client sessions and cards
// (D20).
//
// # Rules
//
//   - A payment counts for the hour of its creation, in UTC, for ever. Its other values are those
//     of its newest event: a payment that is captured leaves the group of its old status and enters
//     that of the new one.
//   - The table statistics has one row for each account and hour, with all its counts (counts), and
//     one for each day, with the sums of its hours. A Counter changes both in the transaction that
//     writes the payment's row. So the counts are a function of the rows of payments and sessions,
//     after a rebuild as well, and Check compares both.
//   - Sums are of one currency, in minor units.
//   - The outcome of a payment's authorization at each processor is one number (Tries). The
//     authorization rate of a processor is the approved ones among all that the processor decided:
//     approved, declined and failed. A payment that was tried at two processors counts at both; for
//     its card network, its country and its hour it counts twice as well, so that the sums agree.
//   - A session and a card count for the hour of their creation.
//
// The package must not know: the log, HTTP.
//
// # Design notes
//
// Counts instead of a scan: the answer for 90 days reads 90 rows, whatever the number of payments.
// A scan of an index over 1,000,000 payments takes about half a second.
//
// One row with all counts of an hour instead of a row for each group: an hour has some 40 groups,
// so that 90 days had 90,000 rows. To read a row costs some microseconds in this driver, to decode
// a group 30 ns. Almost all events of a batch are of the same hour, so that a batch writes two
// rows.
//
// Rows of days beside the hours: a year of 1,000,000 payments takes 8 ms of CPU time on two busy
// cores (BenchmarkRead), where the 8,784 rows of its hours took 53 ms. A day has the payments and
// the tries of each of its hours, too: the report adds up the hours of the day. A report with
// hours, of 31 days at most, reads only the rows of hours.
//
// A Counter instead of triggers: it remembers the newest payments, and each hour that it has
// written. A trigger finds and changes each group of each payment.
package statistics
