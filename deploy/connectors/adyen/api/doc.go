// Package api is Adyen's Checkout API v71 and its standard webhook, for the kit of connectors. Only
// a payment has an answer. A capture, a cancel, a refund and an adjustment are "received"; their
// outcome comes by a webhook. There is no look-up and no list.
//
// # What the connector knows about an operation, and when
//
//	                         answer                  then
//	authorize                SUCCEEDED, DECLINED,    —
//	                         FAILED, or PENDING      AUTHORISATION
//	capture                  PENDING                 CAPTURE; perhaps later CAPTURE_FAILED
//	void                     PENDING                 CANCELLATION
//	refund                   PENDING                 REFUND; perhaps later REFUND_FAILED, REFUNDED_REVERSED
//	adjust                   PENDING                 AUTHORISATION_ADJUSTMENT
//
// The merchant reference of a request is the payment's id, a dot, and Order.Tag. A webhook repeats
// it, so a webhook that overtakes the answer finds its operation, too.
//
// # An answer that was lost
//
//   - A capture, a void, a refund, an adjustment, and an authorization that the ledger repeats with
//     its card: the same request again under the same Idempotency-Key, for 30 days. Adyen answers
//     as it answered the first. A refusal of such a repeat is no result, because Adyen may check a
//     request before it looks for its key.
//   - An authorization whose card is gone: its AUTHORISATION webhook tells. Adyen sends one for
//     each payment, usually within seconds.
//   - If no webhook has come when Config.Late has passed since the newest try: the authorization is
//     cancelled by its reference (POST /cancels, a "technical cancel"). From then on, a success
//     does not count (connector.Finding.Undo), because the cancel takes it back.
//
// # When "nothing" is certain
//
// Find never says Nothing by itself: that Adyen tells nothing proves nothing. Nothing is an event,
// TECHNICAL_CANCEL with success=false, and it is certain for three reasons together:
//
//   - No request under the reference is on its way. Each try ends at the kit's Patience, at most a
//     minute after Order.Tried. Then its connection is closed, and the kernel gives up the bytes
//     that it still has after 15.4 minutes (tcp_retries2). Adyen gets nothing later than that, and
//     answers within minutes. Config.Late is 30 minutes by default and 16 at least.
//   - net/http does not send a request twice by itself (post has no GetBody), and no try comes
//     after the kit has recorded Undo.
//   - Adyen looked for the reference after that time, and found nothing that it could cancel: no
//     payment, or a refused payment.
//
// If an AUTHORISATION with success=true comes all the same, before the ledger has the failure, the
// kit does not take Nothing: the payment is then cancelled by Adyen's own reference, until a
// CANCELLATION with success=true ends it. After the ledger has the failure, the kit logs an error.
// Each cancel is repeated every 6 hours under a key of its own until a webhook ends it.
//
// A cancel that succeeds is FAILED with the code voided: the customer's money was held, and is
// free.
//
// # When nothing was done
//
// connector.ErrNothing means: no connection was made; 401, 403, 429; or the header Transient-Error
// says that the key is still unused. The error code 704 means that the first request is still
// running: that is an unknown outcome.
//
// # Decisions
//
//   - A merchant reference has the payment's id for the people in the Customer Area and for
//     settlement reports. It is at most 80 characters: 64, a dot, 14, and "u" for a cancel that the
//     ledger did not request.
//   - Capture is manual for each payment (additionalData.manualCapture), whatever the account says:
//     else a lost authorization would take money.
//   - Amounts of CLP, CVE, IDR and ISK are converted: Adyen counts them with other decimals than
//     ISO 4217 does. An amount that is no whole number of Adyen's units is refused.
//   - A cancel that is refused at once, and a CANCELLATION that failed with any reason other than
//     "Insufficient balance on payment", are retryable: the ledger captures a payment of
//     captureMode AUTOMATIC if the vendor refuses its void, and not after a fault.
//   - A webhook is accepted by its status 200. Adyen once required the body "[accepted]", and has
//     not since 2024.
//   - A refused item of a webhook refuses the whole message: Adyen sends one item a message.
//
// The package must not know: the ledger, files, and the kit's book.
package api
