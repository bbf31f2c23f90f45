// Package demo plays a merchant's story against a running service, over HTTP and nothing else: it opens a
// session, tokenizes a card, pays, reads the ledger's events back and receives the signed webhook. Each
// chapter says what it expects, and the story fails where the service tells another.
//
// Shop is a web shop to buy from in a browser: it opens a session with its API key, sends the customer to the
// hosted checkout (D12), and believes what a signed webhook tells (§5.2), not the address that the customer comes
// back with (D4).
package demo
