// Package payments creates payments and runs their operations at processors: authorization,
// capture, adjustment, void, refund, and the completion of a customer's action.
//
// # One payment
//
// The order of its effects (D5, D8, D14.2; package commands describes a crash after each step):
//
//  1. Session and instrument are loaded and checked. Nothing is recorded.
//  2. The single-use token is claimed by the payment's id (instrument.used); for a payment from the
//     browser, the session before it (session.payment_started).
//  3. The payment and its request for authorization are recorded (payment.created).
//  4. The processor is called under the key "<paymentId>.1".
//  5. Its answer is recorded (payment.authorized, .declined, …), or the time-out is.
//  6. The card is destroyed.
//
// Later operations (capture, void, refund, adjustment, completion) follow the same order: the claim
// of the idempotency key (payment.key_claimed), the request on the newest state, the call, the
// outcome. A payment runs one operation at a time (D7). A caller waits for a running operation, at
// most until the payment timeout.
//
// The first record, a claim or the request, is the commit point: from there on the work continues
// even if the caller disconnects. Recover continues a request without an outcome at step 4 by
// looking up the key at the processor. The service never guesses an unknown outcome: it looks the
// operation up at growing intervals, sends the request again under the same key, or fences the key.
// The void of an intended cancellation and the capture of captureMode AUTOMATIC are sent again at
// any age: with a fence the money would stay held, or never be taken, and nobody would notice. So
// is a void for which that capture waits: with a fence it would be taken from a customer whose
// payment the merchant cancelled. A second send does nothing twice: a processor that answers
// "unseen" has no record of the key, and the key is its protection against a first request that is
// still on its way. The fence bounds the age of the other requests of callers: a caller got its
// answer, and may decide anew.
//
// Before a refusal of a capture, a void, a refund or an adjustment is recorded, the processor's
// operations for the payment are listed, and out-of-band operations are recorded first (§6.3). The
// same is done before the success of a void, or of a final capture of less than all: an answer has
// no amount, and afterwards the payment is final. Until then the operation has no outcome, and
// recovery repeats the look-up. Before a completion fails because the action has ended at the
// processor, the authorization is looked up once, and its result is recorded instead.
//
// After a restore from a back-up, a new request may have the key of an operation that the log has
// lost. The processor then refuses the key, and a look-up has the outcome of the lost operation. An
// answer that states another operation, payment, currency or amount is therefore no answer. If a
// look-up's answer states no operation and amount, the processor's list of the payment decides; it
// also decides before the success of a void. The lost operation is recorded as out of band, the new
// one stays without an outcome, and an alert tells operators.
//
// # Operations in flight, and the schedule
//
// An operation is in flight, with a goroutine, while a caller waits for it: until it has an answer,
// or its payment timeout is over. A drain only answers the callers. If the operation then has no
// outcome, its next look-up is in the schedule. An entry is the next look-up of one operation at
// its processor; it takes some 300 bytes in a heap, no goroutine and no timer. The intervals double
// from 100 ms to 102.4 s; after that package pending looks the operation up every five minutes. The
// intervals restart after an answer that changes the operation's state. During a look-up the
// operation is in flight again, so one process never runs two look-ups of it, and a new caller
// joins it. The schedule runs lookupsAtOnce look-ups at each processor concurrently, at most 20 s
// for each call, and holds scheduleRoom operations of each: a processor that does not answer takes
// no goroutine and no room from the others. The schedule and the time-outs run by the process's own
// clock (package due).
//
// A failure of the log does not count as a missing answer: the answer was not recorded, or the
// payment or the card could not be read. Such a failure does not lengthen the interval. Up to
// mostFailures failures in a row the operation stays in the schedule, and is tried again within
// logRetryMost, after a wait that is random in part. It is looked up again: the processor gives the
// same answer under the same key, so answers need not be kept in memory. If the append of an answer
// ends without a clear outcome, the answer may stand in the log, and request an operation that
// nobody sends: the payment is then looked up as soon as the log takes events (doubts.go). While
// this process knows that the log takes no events (no connection, a full disk, a damaged shard), it
// asks no processor. While the log's servers have no majority, a try takes 15 s or more. Of a
// shard's operations at one processor without waiting callers, one at a time is then tried until a
// try succeeds.
//
// Operations beyond scheduleRoom, those with five-minute intervals, and those of other processes
// are only in the views. Package pending finds them there and calls Recover, which continues with
// the interval of the operation's age. A restart loses the schedule but no operation: package
// pending then asks once about every operation. While an operation runs, the payment refuses the
// next one (ErrRunning), so requests and recovery can come in any order.
//
// A look-up costs one load of the payment and one call. Measured on two busy cores with processors
// that answer at once (TestPendingCaptures): 10,000 look-ups a second with 3,000 captures pending,
// and 1,800 with a million, which took 39 bytes of memory each and 307 goroutines in total.
//
// # Cards
//
// A card is kept as it was entered until its payment has an outcome, with a limit (D5.13).
// CardNeeded decides that. A payment that vaults its token does so after the authorization (D5.5).
//
// # Tests
//
// Each effect of a command fails, is lost, or happens twice, with and without the end of the
// process (TestCrashMatrix). Clients on several nodes change the same payments
// (TestKeysAreLinearizable, TestMoneyIsLinearizable).
//
// The package must not know: attempts, the inbox of notifications, HTTP. After a creation and each
// recorded answer it calls the function given to Start.
package payments
