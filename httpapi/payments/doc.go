// Package payments serves the calls about client sessions, payment instruments, payments and payment attempts: the merchant's
// (§4, D4–D11) and those of the customer's browser (D12).
//
// A handler decodes, executes and responds. A browser sees only its own session's payments and attempts, and less of them;
// a payment of another session is as unknown as one that does not exist.
//
// What it must not know: how a caller is authenticated, how an answer is written.
package payments
