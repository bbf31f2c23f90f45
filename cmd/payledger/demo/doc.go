// Package demo plays a merchant's story against a running service, over HTTP only: it opens a
// session, tokenizes a card, pays, reads the ledger's events, receives the signed webhooks, checks
// a payment's history and proof as an auditor does, and reads all events as an analyst does, with
// package feed, and asks the exported tables a question in SQL. Each chapter has its expected
// results, and the story fails where the service answers differently.
//
// At a connector (Stage.Connector) the story pays with the cards that the connector declares for
// tests, and leaves out the chapters for which it has no card or no capability.
//
// Crashes is a second story: the service is a child process, which the story kills in the middle of
// a request and starts again (D8, D9). The moment of a kill depends on the processor's books and on
// the calls that reach the processors, not on time. The verdict is computed from the log on the
// disk after each kill, from the answers and calls after each start, and from the log, the API, the
// processor's books and the received webhooks at the end. A difference from the expected results
// does not end the story before the verdict.
//
// Shop is a web shop for a browser: it opens a session with its API key, sends the customer to the
// hosted checkout (D12), and trusts signed webhooks (§5.2), not the address that the customer
// returns to (D4).
package demo
