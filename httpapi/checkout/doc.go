// Package checkout is the hosted page where a customer pays (D12): the card form, the sandbox's 3-D Secure
// challenge, and what came of the payment.
//
// The pages are html/template, the scripts and styles are served as they stand here: no build step and nothing
// from a third party. A page is whole without its script but for the payment itself, which goes over the
// checkout calls of D12 like anybody else's. What the customer enters goes to POST /payment-instruments and
// nowhere else: no field of the card has a name, so that not even a form sent by accident would carry a card number.
//
// Rules: every page has a content security policy without inline code, is not stored, sends no referrer, and is
// framed by nobody who was not named. Amounts are shown by the digits that ISO 4217 gives their currency.
//
// What it must not know: how a token is read, how a payment is made; httpapi gives it what to show.
//
// Design notes:
//   - The client token comes in the address and is taken out of it at once (history.replaceState): it stands in
//     no history, no bookmark and no screenshot. The tab keeps it in sessionStorage, which other tabs, other
//     origins and the server's log do not see. A reload asks for /checkout without a token, gets the page
//     restore.html, and that opens the address anew. The alternative, a cookie, would mix up two tabs with two
//     orders.
//   - The tab also keeps how far it got: the card's token before it pays, the payment's id once it knows it.
//     One function goes on from there (flow.js), whether the step before was answered, cut off, or made by the
//     page before a reload. A payment is asked for under an idempotency key that is kept too, so that a repeat
//     finds the payment instead of making another (D9).
//   - Asset addresses carry a hash of all assets, so they may be kept for ever; an address of another release
//     is answered with what there is, and not kept: two nodes may differ while a release is rolled out.
package checkout
