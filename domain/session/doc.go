// Package session is the client session aggregate: the data that a merchant prepares for one
// checkout (§2.5, D4).
//
// Rules:
//
//   - Any amount needs a currency. Without an amount, the session's amount is the sum of its order.
//   - The approvalMode is fixed at creation.
//   - A MANUAL session names its newest payment attempt; a session that pays from the browser names
//     its newest payment. So a session has at most one of them at a time.
//
// Personal data stays sealed. It must not know how a payment is made or decided.
package session
