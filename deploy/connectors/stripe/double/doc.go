// Package double is Stripe as the connector sees it, in memory: PaymentMethods, PaymentIntents with
// manual capture, SetupIntents without a card, refunds, disputes, balance transactions, idempotency
// keys, and signed webhooks. It is written from Stripe's published API, and no part of Stripe.
//
// Rules:
//   - What it cannot do is answered with 404 or 400: it never pretends.
//   - An answer is saved under its idempotency key once the endpoint began to run, also a decline
//     or a 500. A request that fails validation is not saved. The same key with other parameters or
//     at another endpoint is idempotency_error; while the first request runs it is 409.
//   - A fault is ordered by a test: an answer that is lost before or after the request was carried
//     out, a request that arrives later, 429, 500, and answers that no client may believe.
//   - Webhooks are sent when Deliver says so, in any order, as often as it says.
//   - The clock is the caller's.
//
// It must not know: the connector.
package double
