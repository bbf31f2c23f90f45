// Package payload renders the bodies of webhooks as values for JSON (§6.2 to §6.5, D16, D17). It is
// pure: the caller reads the state and opens the personal data.
//
// A body is an envelope and the members of its kind. signedAt, the endpoint and settings are as of
// the attempt, all else is the state at the event.
//
// The package must not know: the log's streams, endpoints' secrets, HTTP.
package payload
