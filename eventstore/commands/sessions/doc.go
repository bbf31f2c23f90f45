// Package sessions creates and changes client sessions (D4). The customer's personal data is sealed
// under the person's own key. The session is validated before a key is created.
//
// The package must not know: access tokens, tokens of cards, payments, HTTP.
package sessions
