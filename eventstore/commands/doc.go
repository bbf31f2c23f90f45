// Package commands carries out what callers ask of the ledger: it loads, lets the domain decide, appends,
// and performs effects at processors in the stated order.
//
// The order of one payment (D5, D8, D14; the crash after each step is told in package eventstore):
//
//  1. the session and the instrument are read, and the whole is checked without recording anything;
//  2. the single-use token is claimed by the payment's id (instrument.used), and before it, by the browser, the session
//     (session.payment_started);
//  3. the payment and its request for authorization are recorded (payment.created);
//  4. the processor is called under the key "<paymentId>.1";
//  5. the answer is recorded (payment.authorized, .declined, …), or the time-out is;
//  6. the card is destroyed.
//
// Later operations (capture, void, refund, adjustment, completion) follow the same order: the key's claim
// (payment.key_claimed), the request on the newest state, the processor, the outcome. One at a time on a
// payment (D7): who finds another running waits for it, at most until the payment timeout.
//
// An approval of a payment attempt records its decision first, then makes the payment by the same steps, under an id
// that is derived from the attempt; finish may be run by anybody, any number of times (§3.3).
//
// When the processor refuses a capture, a void, a refund or an adjustment, its books of the payment are looked at
// before the refusal is recorded, and what was done there behind our back is recorded first (§6.3): until the
// refusal stands, the operation has no outcome, and a crash leads back to the same look.
//
// From the first claim on the work no longer belongs to the caller: it goes on when the caller goes away. A
// process that finds a request without an outcome (Recover) enters at step 4 by asking the processor for the
// key. An unknown outcome is never guessed: it is asked for at growing intervals, sent again under the same
// key, or fenced.
//
// # Questions
//
// An operation is a flight, with a goroutine, while a caller waits for it: until it has an answer, its payment timeout
// is over or the service drains. A flight that ends without an outcome leaves its next question to the agenda: some 300
// bytes in a heap, no goroutine and no timer. The intervals double from 100 ms up to five minutes, from the first question of the
// flight on, and anew from an answer that changed the operation's state. Each question of the agenda is a short flight
// again: within a process no operation is asked about by two at once, and a caller who comes meanwhile makes the short
// flight a long one. The agenda asks each processor questionsAtOnce questions at once, of 20 s at most, and holds
// agendaRoom operations of each: one that does not answer takes none of the others' goroutines or room.
//
// The agenda and the time-outs of callers run by the process's own clock, which nobody sets back (package due).
//
// What the agenda has no room for, and operations whose questions have come to be five minutes apart, stand in the
// views alone, as does what other processes left: package pending finds it there, and calls Recover. A restart forgets
// the agenda and loses nothing: package pending asks about everything once after a start, and Recover goes on with the
// interval that belongs to the operation's age. The start waits for none of it. Until it is known what became of an
// operation, the payment refuses the next one (ErrRunning), so it does not matter whether a request or the recovery
// comes first.
//
// A question costs one look-up of the payment and one exchange. Measured on two cores with processors that answer at
// once (TestPendingCaptures): 10,000 questions a second with 3,000 captures pending, and 1,800 with a million, on a
// machine that was busy otherwise; of each of the million stood 39 bytes in memory, most of them of the agenda and the
// connections, and there were 307 more goroutines than without any.
//
// What a processor tells unasked (a result, a dispute) is first kept in the inbox of its payment reference, once by
// the processor's event id (inbox.received), and then answered. After that it is applied: to the payment as an answer,
// to the dispute as a fact; and settled (inbox.applied, inbox.rejected). A crash in between leaves it waiting in the
// inbox: whoever finds it applies it, and twice is once, because payment and dispute know what they were told. What
// cannot be applied yet waits, and is looked at again when something is recorded of its payment here, and by every
// node now and then. What contradicts the outcome that stands is rejected and warned of; whether it does is decided on
// the payment as it is once nothing could be appended, so that it does not matter which node or which life of it heard
// of what first. An inbox that is full keeps nothing more; a dispute is recorded without it, being durable by itself.
//
// A lost notification of a result is found by asking for the operation's key. A lost one of a dispute is found by
// SweepDisputesAt, which asks a processor what it told about disputes since the last time. Asking for the disputes of
// each payment instead would be unbounded: payments can be disputed for months. A sweep costs one question per
// processor, and one look-up per dispute event that is new; where it has come to is kept in memory as a cursor, and in
// the log every ten minutes of the processor's time, from which a start goes back an hour.
//
// What it must not know: HTTP, JSON, who may do what (httpapi checks scopes before it calls).
package commands
