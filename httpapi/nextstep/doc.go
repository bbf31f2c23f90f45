// Package nextstep advises the merchant about a payment: the next thing to do, or to wait for.
//
// It is the only owner of this text. `payledger payments show` prints it, and the dashboard's page
// of a payment shows it. The terminal gets the calls of the API beside it, the page has buttons.
//
// Rules:
//   - The advice never is a refund of money that a dispute returns or has returned (D22.2).
//   - A refund without an outcome counts as refunded.
//   - While an outcome is unknown, the advice is to wait, and not to pay again (D8).
//
// The package must not know: how a payment is read, how the text is shown.
package nextstep
