// Package demo plays a merchant's story against a running service, over HTTP and nothing else: it opens a
// session, tokenizes a card, pays, reads the ledger's events back and receives the signed webhook. Each
// chapter says what it expects, and the story fails where the service tells another.
package demo
