// Package transactions finds payments by the ids that processors gave to their transactions (D20:
// search).
//
// # Rules
//
//   - Every event of a payment with a processor's transaction id has a row: an authorization, a
//     capture, a refund, a void, an adjustment.
//   - A row has a code of the account and the id instead of their texts, and the number of the
//     payment's row: 2,000,000 transactions take 35 MB instead of some 250 MB. Different ids may
//     have the same code: the caller compares the payment's own ids.
//
// The package must not know: the log's reader, HTTP.
package transactions
