// Package eventjson renders an event of the log as analysts read it: the JSON of GET /events, of its stream, of tail and of the
// stream EVENTS (I2).
//
// Rules: an event has no personal data, no secret, no card number and no sealed value in it, so that an erasure changes nothing
// here. Amounts are minor units; dates have six digits and are in UTC (D1). The state after the event stands beside it: a payment as
// its Payment JSON without the customer and the cardholder's name, other aggregates with the fields of the log. The same event always
// has the same JSON.
//
// What it must not know: SQL, HTTP, NATS.
//
// Design notes
//
//   - hidden.go lists the fields that are left out, by name, at any depth. Bytes are left out whatever their name is: the log has
//     only hashes and ciphertext as bytes. A merchant's metadata stays as it is.
//   - A session id and a payment method token are credentials. A fingerprint stands for them, in all events the same.
//   - URLs are left out: webhook and return addresses can carry a secret.
package eventjson
