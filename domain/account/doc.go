// Package account is the merchant account aggregate: its settings, routing, API keys, webhook endpoints, signing
// secret, users and merchant accounts at processors (D2, D15, D18, D20).
//
// Rules: it holds no secrets. It has the SHA-256 of an API key's text (D2), and the names of a signing secret and of a
// password in the stream of secrets. It is one aggregate, so that a change is checked against the whole and a request
// needs one look-up. The limits below bound its size.
package account
