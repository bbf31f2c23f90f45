// Package payments serves the calls about client sessions, payment instruments, payments and
// payment attempts: the calls of merchants (§4, D4–D11) and of the customer's browser (D12).
//
// A handler decodes, executes and responds. A browser reads only the payments and attempts of its
// own session, with fewer fields. For a payment of another session it gets the error of an unknown
// payment.
//
// The package must not know: how a caller is authenticated, how an answer is written.
package payments
