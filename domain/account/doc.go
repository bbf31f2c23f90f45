// Package account is the merchant account aggregate: its settings, routing, API keys, webhook
// endpoints, signing secret, users and merchant accounts at processors (D2, D15, D18, D20).
//
// Rules: it holds no secrets. It has the SHA-256 of an API key's text (D2), and the names of a
// signing secret, and of users' passwords and second factors, in the stream of secrets. It is one
// aggregate, so that a change is checked against the whole and a request needs one look-up. The
// limits below bound its size.
//
// Users are the merchant's staff. Their names, which are e-mail addresses, and the addresses that
// they sign in from are in the events in clear, and stay there after a user is removed: the audit
// trail must name who did something, and an erasure of customers' data does not concern it.
// Webhooks, the stream EVENTS and GET /events have neither (package eventjson hides them).
//
// A user's session is a part of the state, and its id is no secret: only a token that the service
// signed proves a session (package users). A failed sign-in is an event, so that all nodes count
// together. The lock after ten of them bounds such events to eleven in 15 minutes for each user.
package account
