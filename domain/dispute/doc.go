// Package dispute is the dispute aggregate: what a processor told about one dispute of a payment, and where it
// therefore stands (§3.2, §6.4, D16).
//
// Nobody commands a dispute. Every fact comes from the processor, in any order, and each is recorded once:
//
//   - opened: the first that is possible, whatever its type and status;
//   - changed: newer by the processor's time than all others, with another type or status;
//   - noted: changes neither. It is older than the newest, or tells the same with other details;
//   - rejected: impossible, with the reason.
//
// Rules:
//
//   - The newest possible fact by the processor's time is what holds, in whatever order they came. Of facts of
//     the same time the later one is the one that can follow the other.
//   - A fact is possible if the dispute can have gone that way: what stands before it in time leads to it, and it
//     leads to what stands after it, over any number of steps of D16. Facts in between may be lost or late, so a
//     step that was not seen is no contradiction. STATES.md shows all of them.
//   - So the facts that were not rejected are always a way that D16 allows; Check states it.
//   - What has a time more than maxAhead from now is rejected: it would be the newest until then.
//   - A processor's event id is recorded once. Past maxFacts nothing is noted or rejected any more; what changes
//     the dispute still is, and there can be few of those.
//
// What it must not know: the payment's rules, webhooks, how processors name things.
//
// Design note. The alternative to "over any number of steps" is to want each step: then a dispute whose
// CHALLENGED was lost could never be LOST, and a merchant would not hear of it.
package dispute
