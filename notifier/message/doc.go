// Package message composes the message of a delivery: it reads the event, the endpoint, the signing
// secrets and the personal data, and renders the body (§5.2, D17, D18).
//
// Rules:
//   - A message is composed only after GET shows at least the state at its event (D17).
//   - An endpoint that is missing or disabled in the views is read from the log: views may lag, and
//     CANCELLED is final.
//   - The current secret signs, and for 24 hours after a rotation the previous one too, unless it
//     is destroyed (§5.2 rule 3, D18).
//   - Personal data is decrypted for each message, so that erased data is not sent.
//
// The cache holds planned events and their renderings. So an event that was just planned is not
// read again, and all endpoints share its rendering. Signing secrets stay in memory for a minute.
//
// The package must not know: attempts, schedules, HTTP.
package message
