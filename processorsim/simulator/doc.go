// Package simulator is the server of six simulated payment processors (D13, D14.1): one
// JSON-over-HTTP protocol, durable books, and a control API that makes the processors misbehave on
// demand.
//
// # Protocol, version 1
//
// NAME is one of ADYEN, BRAINTREE, CHECKOUT, PAYPAL, STRIPE, WORLDPAY; {key} is an idempotency key
// of 1–255 visible ASCII characters, escaped as one path segment. Amounts are minor units, times
// RFC 3339.
//
//	GET  /v1/processors/NAME                           its declaration, protocol.Declaration
//	POST /v1/processors/NAME/operations                one operation; header Idempotency-Key
//	GET  /v1/processors/NAME/operations/{key}          look up one operation
//	POST /v1/processors/NAME/operations/{key}/fence    refuse the key from now on; no body
//	GET  /v1/processors/NAME/operations?reference=ID   all operations of a payment there
//	GET  /v1/processors/NAME/operations?from=&to=      all operations there by creation, times included
//
// An operation, processor.Operation:
//
//	{"operation":"authorize","processorMerchantId":"m-1","reference":"01abc","amount":1250,"currency":"EUR",
//	 "card":{"number":"4242424242424242","cvv":"123","expirationMonth":"12","expirationYear":"2031"},
//	 "notifyUrl":"http://127.0.0.1:8080/processors/ADYEN/notifications"}
//	{"operation":"complete","reference":"01abc","parentId":"adyen_…","outcome":"AUTHENTICATED","amount":0,…}
//	{"operation":"capture","reference":"01abc","parentId":"adyen_…","amount":500,"currency":"EUR","final":true}
//	{"operation":"refund", …"parentId" is the transaction of an authorization or of one capture…}
//
// complete, capture, void and adjust act upon the transaction of an authorization. An adjustment's
// amount is the new total. complete and void concern the whole authorization: their amount is only
// recorded, and their currency may be empty.
//
// Its answer, 200 and processor.Answer. complete, void and adjust answer with the authorization's
// transaction id; a capture and a refund have one of their own; a FAILED authorization has none:
//
//	{"state":"SUCCEEDED","processorTransactionId":"adyen_…","processorEventId":"ev_…","at":"…",
//	 "authorizationCode":"123456","binData":{…},"risk":{…}}
//	{"state":"DECLINED","code":"05","message":"do not honor", …}
//	{"state":"ACTION_REQUIRED","actionToken":"act_…","threeDSecureResponseCode":"CHALLENGE", …}
//	a connector may add "actionUrl", the page where the customer acts; from there it sends the
//	customer to the "returnUrl" of authorize. Both are optional, and the ledger stores neither
//	{"state":"FAILED","code":"technical_error","retryable":true,"message":"technical error","at":"…"}
//
// Look-up and fence answer 200 and processor.Lookup: {"state":"UNSEEN"}, RUNNING, FENCED, or
// {"state":"KNOWN","answer":{…}}; by reference {"operations":[{a line of the
// books…,"final"?,"answer":{…}}]}, by time the same objects as JSON lines.
//
// Everything that is not 200 is {"error":{"code","message"}} and no fact about the payment (D8):
// 400, 404, 405, 413, 422 invalid_request; 422 key_reused (same key, other contents); 409
// in_progress; 503 unavailable. The codes of refusals stand in package protocol.
//
// # Notifications
//
// A PENDING operation ends 2 s later. Its result is sent to its notifyUrl by POST:
//
//	X-Processor-Signature: hex HMAC-SHA256 of the raw body with Config.Secret
//	{"id":"nt_…","processor":"ADYEN","type":"capture","idempotencyKey":"01abc.7","reference":"01abc","answer":{…}}
//
// type is the operation. Changes of a dispute are sent to the newest notifyUrl of its payment:
//
//	{"id":"nt_…","processor":"ADYEN","type":"dispute","reference":"01abc","dispute":{…the processor's own words…}}
//
// GET /v1/processors/NAME/disputes?since=&after=&limit= lists the same bodies, oldest first,
// delivered or not: {"notifications":[…],"next":"nt_…","more":false}; with ?reference= alone all of
// one payment. Package dialect has their terms. Any 2xx ends a notification; else it is repeated
// after 1, 2, 4, 8, 16 and 32 s with the same id. A restart may repeat it.
//
// # Control API
//
//	POST   /sim/faults    {"processor"?,"operation"?,"mode","rate"?,"count"?,"delayMs"?} → the fault
//	GET    /sim/faults    {"faults":[…]}, with the counts that are left
//	DELETE /sim/faults    {}
//	POST   /sim/capture, /sim/refund, /sim/void   {"reference","amount"?} → the new line; 422 when refused
//	POST   /sim/disputes  {"reference","type","reasonCode","amount"?} → the dispute
//	PATCH  /sim/disputes/{id}   {"type"?,"status"} → the dispute; impossible changes are sent, too
//	POST   /sim/settle    {"settled":N}: all that is pending ends now, and disputes open that would later
//	GET    /sim/books?reference=&processor=&from=&to=   JSON lines, one per operation, by creation
//
// Of the faults that fit an operation the first of each mode counts. drop_before: cut, nothing
// recorded. latency: the operation is running while it waits, and commits at the latest when the
// client goes away. error: recorded as FAILED, retryable. drop_after: recorded, then cut. The last
// two notification modes: duplicate_notification sends it twice; reorder holds it back until
// another has gone out, or delayMs (3000) have passed. With "operation":"dispute", drop_before
// loses a notification and latency delays it. Repeats under a known key meet drop_before and
// drop_after only.
//
// Rules: an answer leaves after its record is durable (package books). An authorization that waits
// for its customer shows as PENDING in the books until complete or void ends it; under its own key
// it goes on answering ACTION_REQUIRED. Numbers and CVVs of cards reach no file, log, answer or
// error text.
//
// The books of a simulator that does not run are an Archive: read, and not changed.
//
// The package must not know: the service. It imports the values of domain/processor and nothing
// above them.
//
// Design notes:
//   - A refusal by fault mode error is recorded under its key. Were it not, a repeat could be
//     approved after the service had gone to the next processor: two holds for one payment.
//   - A repeat of the card that never answers is answered: the card stands for an answer that was
//     lost, and the contract of the key is stronger.
//   - Timers are injected (Config.AfterFunc), so that tests drive the 2 s and the back-off by hand.
package simulator
