// Package commands carries out the commands of callers: it loads an aggregate, lets the domain decide, appends the event,
// and calls processors in the order below.
//
// # One payment
//
// The order of its effects (D5, D8, D14; package eventstore describes a crash after each step):
//
//  1. Session and instrument are loaded and checked. Nothing is recorded.
//  2. The single-use token is claimed by the payment's id (instrument.used); for a payment from the browser, the session
//     before it (session.payment_started).
//  3. The payment and its request for authorization are recorded (payment.created).
//  4. The processor is called under the key "<paymentId>.1".
//  5. Its answer is recorded (payment.authorized, .declined, …), or the time-out is.
//  6. The card is destroyed.
//
// Later operations (capture, void, refund, adjustment, completion) follow the same order: the claim of the idempotency key
// (payment.key_claimed), the request on the newest state, the call, the outcome. A payment has one operation at a time
// (D7): a caller that finds another one waits for it, at most until the payment timeout.
//
// The first claim is the commit point: from there on the work no longer belongs to the caller, and continues when the caller
// is gone. Recover finds a request without an outcome and continues at step 4 by asking the processor for the key. An
// unknown outcome is never guessed: questions follow at growing intervals, the request is sent again under the same
// key, or its key is fenced.
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
// An operation is in flight, with a goroutine, while a caller waits for it: until it has an answer, its payment timeout is
// over, or the service drains. An operation that is then without an outcome has its next question in the agenda: some 300
// bytes in a heap, no goroutine and no timer. The intervals double from 100 ms to five minutes, and start again after an
// answer that changed the operation's state. During a question the operation is in flight again, so that no two questions
// about it run in one process; a caller that arrives joins it. The agenda asks each processor questionsAtOnce questions
// concurrently, for at most 20 s each, and holds agendaRoom operations of each: a processor that does not answer takes no
// goroutine and no room from the others. The agenda and the time-outs run by the process's own clock (package due).
//
// Operations beyond agendaRoom, those with five-minute intervals, and those of other processes are in the views alone:
// package pending finds them there and calls Recover. A restart loses the agenda and no operation: package pending asks
// about everything once after a start, which does not wait for it, and Recover continues with the interval of the
// operation's age. While an operation has no outcome, the payment refuses the next one (ErrRunning), so requests and
// recovery can come in any order.
//
// A question costs one load of the payment and one call. Measured on two busy cores with processors that answer at once
// (TestPendingCaptures): 10,000 questions a second with 3,000 captures pending, and 1,800 with a million, which took 39
// bytes of memory each and 307 goroutines in total.
//
// # Notifications
//
// An unsolicited notification (a result, a dispute) is stored in the inbox of its payment reference, once by the
// processor's event id (inbox.received), then acknowledged, then applied: to the payment as an answer, to the dispute as a
// fact (inbox.applied, inbox.rejected). After a crash in between it is pending and applied again, which changes nothing,
// because payment and dispute know the notifications that they have applied. A notification that cannot be applied yet
// stays pending. It is applied after the next event of its payment here, and periodically by every node. A notification
// that contradicts the recorded outcome is rejected with a warning, decided on the payment's newest state, so that the
// order of arrival at the nodes does not matter. A full inbox stores nothing more; a dispute is durable without it.
//
// The operation's own questions replace a lost notification of a result. SweepDisputesAt finds lost notifications of
// disputes: it asks a processor for those since its cursor. (A question for each payment would be unbounded: payments can
// be disputed for months.) A sweep costs one question per processor, and one load per new dispute event. The cursor is in
// memory. Every ten minutes of processor time it is also logged. A restart resumes one hour before the logged cursor.
//
// What it must not know: HTTP, JSON, scopes (httpapi checks them before it calls).
package commands
