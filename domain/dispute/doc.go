// Package dispute is the dispute aggregate: the facts that a processor reported about a dispute of
// a payment, and the stage and status that follow from them (§3.2, §6.4, D16).
//
// Every fact comes from the processor, in any order, and is recorded once, as one of these events:
//
//   - opened: the first possible fact, in any type and status;
//   - changed: newer by the processor's time than all others, with another type or status;
//   - noted: older than the newest fact, or the same type and status with other details;
//   - rejected: impossible, with the reason.
//
// Rules:
//
//   - The newest possible fact by the processor's time determines the dispute's type and status,
//     whatever the order of arrival. Of two facts with the same time, the fact that can follow the
//     other is the newer one.
//   - A fact is possible if the fact before it in time leads to it and it leads to the fact after
//     it, in any number of steps of D16: notifications may be lost or late. STATES.md shows all
//     steps. So the accepted facts always follow D16; the tests check that after every fact
//     (State.Check).
//   - A fact with a time more than maxAhead in the future is rejected: it would be the newest until
//     then.
//   - A processor's event id is recorded once. Beyond maxFacts only changes of the dispute are
//     recorded; there are few.
//
// It must not know: the payment's rules, webhooks, how processors name things.
//
// Design note. The alternative to "in any number of steps" is to require each step. Then a dispute
// whose CHALLENGED was lost could never become LOST, and the merchant would not learn of the loss.
package dispute
