// Package adapter is the service's side of the processor protocol over HTTP (D14.1): it implements
// processor.Port against one base URL, reads the notifications that processors send, and drives the
// simulator's control API for tests and demos.
//
// Rules:
//   - Only a complete, readable and consistent answer is a fact (D8). Everything else is
//     processor.ErrUnknown: 4xx and 5xx, a cut connection, a timeout, an answer that is too large,
//     unreadable, or SUCCEEDED without a transaction.
//   - A field is read by its exact name, and no name stands twice (package exactjson): an
//     additional field STATE does not replace state, and an answer with two states is no fact.
//   - An answer has its body as it may be kept (D14.17): rawanswer.go. A plain answer (package
//     plainjson) without a card number and without a token is kept unchanged.
//   - A notification is a fact only if its signature is valid and its answer would be a fact.
//     Fields outside the protocol are returned apart from the body, because they may be personal
//     data.
//   - The adapter never resends. net/http would repeat a request with an Idempotency-Key after a
//     dead connection; a body that cannot be rewound prevents that. The caller, who recorded the
//     request, decides about a resend.
//   - It follows no redirect and uses no proxy: card data goes only to the processor's address. No
//     error text has a request's body.
//
// It must not know: the simulator's code, the effect of an answer on a payment.
package adapter
