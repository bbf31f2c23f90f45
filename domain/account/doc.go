// Package account is the merchant account aggregate: its settings, routing, API keys, webhook endpoints, signing
// secret, users and merchant accounts at processors (D2, D15, D18, D20).
//
// Rules: secrets are never here. An API key is known by the SHA-256 of its text (D2); a signing secret
// and a password by the name under which the stream of secrets holds them. One aggregate holds all of
// it, so that every change is checked against the whole and one look-up answers a request; its size is
// bounded by the limits below.
package account
