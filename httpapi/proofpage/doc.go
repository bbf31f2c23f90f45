// Package proofpage is the page /proof: it takes a payment's proof and checks it in the browser,
// with WebCrypto. The file goes nowhere: the page's content security policy forbids every
// connection.
//
// Rules: proof.js checks what eventstore/proof checks, in the same order, and names the same event.
// A test gives both the same files. Nothing comes from a third party, and no text becomes code. The
// server fills in its own verifier key, and the page says that the reader should compare it: who
// changes a proof can also serve another key.
//
// The package must not know: the ledger, accounts, API keys.
package proofpage
