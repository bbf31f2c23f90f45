// Package checkout is the hosted page where a customer pays (D12): the card form, the sandbox's 3-D
// Secure challenge, and the result of the payment.
//
// The pages are html/template; scripts and styles are served unchanged: no build step, and nothing
// from a third party. Only the payment itself needs the script, which uses the checkout calls of
// D12 like any other client. The card goes only to POST /payment-instruments: the card's fields
// have no name, so that a form sent by accident has no card number.
//
// Rules: every page has a content security policy without inline code, is not stored, sends no
// referrer, and can be framed only by the configured origins. Amounts have the digits that ISO 4217
// gives their currency.
//
// The package must not know: how a token is read, how a payment is made; httpapi provides the
// content.
//
// Design notes:
//   - The client token comes in the address and is removed from it at once (history.replaceState):
//     it is in no history, bookmark or screenshot. The tab keeps it in sessionStorage, which other
//     tabs, other origins and the server's log cannot read. A reload requests /checkout without a
//     token and gets restore.html, which opens the address again. The alternative, a cookie, would
//     mix up two tabs with two orders.
//   - The tab also keeps its progress: the card's token before it pays, the payment's id
//     afterwards. One function (flow.js) continues from there, also after a reload or a lost
//     answer. The payment's idempotency key is kept, too, so that a repeat finds the payment
//     instead of making another (D9).
//   - Asset addresses have a hash of all assets, so they may be cached for ever. An address of
//     another release is answered with the present file, and not cached: two nodes may differ while
//     a release is rolled out.
package checkout
