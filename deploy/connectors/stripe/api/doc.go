// Package api is Stripe as a vendor of package connector: PaymentIntents with manual capture, over
// stripe-go, whose version pins the version of Stripe's API.
//
//	operation   request to Stripe                                   found again by
//	authorize   POST payment_methods, then POST payment_intents     metadata, in the list by time
//	of nothing  POST payment_methods, then POST setup_intents       metadata, in the list by time
//	complete    GET payment_intents/ID; POST …/cancel if given up   the PaymentIntent's state
//	of nothing  GET setup_intents/ID; POST …/cancel if given up     the SetupIntent's state
//	capture     POST payment_intents/ID/capture                     its stamp in the metadata
//	void        POST payment_intents/ID/cancel                      the PaymentIntent's state
//	refund      POST refunds                                        metadata, in the list of refunds
//	adjust      POST payment_intents/ID/increment_authorization     its stamp in the metadata
//
// # Doubt
//
// Stripe keeps the answer to the first request under an idempotency key for at least 24 hours,
// declines and 500 included, once the endpoint began to run; a request that fails validation, or is
// too much (429), leaves the key free. The same key with other parameters, or at another endpoint,
// is an idempotency_error. So:
//
//   - Within 23 hours a repeat under the same key is safe, and is what the kit does with every
//     order that needs no card.
//   - Stripe has no fence. To be certain that an authorization without its card never happens, Find
//     looks into the list by time, and then uses the key up (seal): it makes a SetupIntent without
//     a card under it, and cancels that. If Stripe takes it, the authorization can never arrive any
//     more: Nothing. If Stripe answers idempotency_error, the authorization has arrived: it is in
//     the list, or the outcome stays unknown. While the first request runs (409) it is unknown,
//     too.
//   - A refusal (400, 401, 403, 404) of a repeat proves nothing about the first request, which may
//     be on its way and be taken. Unless Stripe replays its first answer, the key is used up before
//     the refusal is a result.
//   - A question about an object that Stripe refuses, for example because the key is of another
//     account, says nothing about an order. Nor about an event: it is refused, and comes again.
//   - A 500 that Stripe keeps under the key says nothing. The object is looked for; if there is
//     none, the outcome is unknown until no request can arrive any more.
//   - After 23 hours a key may be free again: nothing is sent under it. The traces in the table
//     tell. Without a trace it is Nothing 25 hours after the newest try.
//   - Before the second request of an authorization, every fault is certainly nothing: a
//     PaymentMethod moves no money.
//
// # Rules
//
//   - An answer counts only if it has the key and the payment of its order in its metadata, the
//     mode of the API key, and an amount in whole units of the ledger. The kit compares the amount.
//   - An event is a hint: its object is read from Stripe. So it may be late, repeated, out of
//     order.
//   - A refused cancellation is retryable unless the PaymentIntent is captured or cancelled: the
//     ledger captures a payment of captureMode AUTOMATIC if the vendor refuses its void.
//   - The browser's word about 3-D Secure does not count, Stripe's does. A customer who gave up has
//     the PaymentIntent cancelled as abandoned; one who came back and never finished, after an
//     hour.
//   - The customer's page (next_action.redirect_to_url) goes to the ledger as actionUrl. The token
//     of the action is the PaymentIntent's id; no client secret leaves this package.
//   - stripe-go repeats nothing and logs nothing. A request is written to one connection once.
//   - An answer of Stripe has at most 8 MiB; its messages are cut, and left out if they may hold
//     card data.
//
// # Design notes
//
// The list by time and not the search: the search is some seconds to an hour behind, and an
// authorization that it does not have yet would look as if it never happened. The cost is a list of
// the payments of a day in the worst case, 100 a page, only for authorizations of unknown outcome.
//
// A PaymentMethod first and not payment_method_data: Stripe's published description of the API has
// no card number in the latter, and the order of certainty above needs the number to be gone before
// anything can happen.
//
// A SetupIntent and not a PaymentIntent uses a key up: it has no amount that could be too small,
// and never stands among the payments.
//
// Captures have no object of their own at Stripe. The stamp is metadata that the capture's own
// request sets: "payledger_capture_1f2e3d4c5b6a" = "1200 final 01abc.7". 50 entries of metadata are
// Stripe's limit, and 50 captures as well: three entries are used by the authorization, so after 47
// captures and adjustments of one payment Stripe refuses the next.
//
// It must not know: the book, HTTP of the protocol, when an order is sent again.
package api
