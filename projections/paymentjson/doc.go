// Package paymentjson renders the Payment JSON: the API's answers, webhooks, lists and histories
// show a payment with it (§2.1–§2.4, D6, D17).
//
// Rules: Render is a pure function of a payment's state, the opened personal data and Options. The
// same arguments give the same JSON. Dates have six digits and are in UTC (D1). Amounts are minor
// units of the payment's currency.
//
// The package must not know: SQL, HTTP, the log, how a state came about.
package paymentjson
