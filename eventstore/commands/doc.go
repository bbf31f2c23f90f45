// Package commands carries out the commands of callers: it loads an aggregate, lets the domain decide, appends the event,
// and calls processors in the order below.
//
// # One payment
//
// The order of its effects (D5, D8, D14.2; package eventstore describes a crash after each step):
//
//  1. Session and instrument are loaded and checked. Nothing is recorded.
//  2. The single-use token is claimed by the payment's id (instrument.used); for a payment from the browser, the session
//     before it (session.payment_started).
//  3. The payment and its request for authorization are recorded (payment.created).
//  4. The processor is called under the key "<paymentId>.1".
//  5. Its answer is recorded (payment.authorized, .declined, …), or the time-out is.
//  6. The card is destroyed.
//
// Later operations (capture, void, refund, adjustment, completion) follow the same order: the claim of the idempotency
// key (payment.key_claimed), the request on the newest state, the call, the outcome. A payment runs one operation at a
// time (D7). A caller waits for a running operation, at most until the payment timeout.
//
// The first claim is the commit point: from there on the work continues even if the caller disconnects. Recover finds a
// request without an outcome and continues at step 4 by looking up the key at the processor. The service never guesses
// an unknown outcome: it looks the operation up at growing intervals, sends the request again under the same key, or
// fences the key.
//
// The approval of a payment attempt records the decision and then creates the payment by the same steps, under an id that
// is derived from the attempt. Repeated and concurrent completions are safe (§3.3).
//
// Before a refusal of a capture, a void, a refund or an adjustment is recorded, the processor's operations for the payment
// are listed, and out-of-band operations are recorded first (§6.3). Until the refusal is recorded, the operation has no
// outcome, and recovery repeats the look-up.
//
// # Operations in flight, and the agenda
//
// An operation is in flight, with a goroutine, while a caller waits for it: until it has an answer, its payment timeout
// is over, or the service drains. If the operation then has no outcome, its next question is in the agenda. A question
// is a look-up of one operation at its processor; it takes some 300 bytes in a heap, no goroutine and no timer. The
// intervals double from 100 ms to five minutes. They start again after an answer that changes the operation's state.
// During a question the operation is in flight again, so one process never runs two questions about it, and a new
// caller joins it. The agenda asks each processor questionsAtOnce questions concurrently, for at most 20 s each, and
// holds agendaRoom operations of each: a processor that does not answer takes no goroutine and no room from the others.
// The agenda and the time-outs run by the process's own clock (package due).
//
// Operations beyond agendaRoom, those with five-minute intervals, and those of other processes are only in the views.
// Package pending finds them there and calls Recover. A restart loses the agenda but no operation: after a start,
// package pending asks once about every operation. The start does not wait for it. Recover continues with the interval
// that the operation's age gives. While an operation runs, the payment refuses the next one (ErrRunning), so requests
// and recovery can come in any order.
//
// A question costs one load of the payment and one call. Measured on two busy cores with processors that answer at once
// (TestPendingCaptures): 10,000 questions a second with 3,000 captures pending, and 1,800 with a million, which took 39
// bytes of memory each and 307 goroutines in total.
//
// # Notifications
//
// An unsolicited notification (a result, a dispute) is first stored in the inbox of its payment reference, once by the
// processor's event id (inbox.received, D14.5). The service then acknowledges it, and applies it to the payment or the
// dispute (inbox.applied, D14.6; inbox.rejected, D14.7). After a crash in between, the notification is pending and is
// applied again. This changes nothing: payment and dispute know the notifications that they have applied. A
// notification that cannot be applied yet stays pending. This node applies it after the payment's next event here, and
// every node tries periodically. A notification that contradicts the recorded outcome is rejected with a warning,
// decided on the payment's newest state, so that the order of arrival at the nodes does not matter. A full inbox stores
// nothing more; a dispute's notification is then applied without being stored (D14.10).
//
// If the notification of a result is lost, the questions about the operation find the result. SweepDisputesAt finds
// lost notifications of disputes: it asks a processor for those since its cursor. (A question for each payment would be
// unbounded: payments can be disputed for months.) A sweep costs one question per processor, and one load per new
// dispute event. The cursor is in memory. Every ten minutes of processor time it is also logged. A restart resumes one
// hour before the logged cursor.
//
// What it must not know: HTTP, JSON, scopes (httpapi checks them before it calls).
package commands
