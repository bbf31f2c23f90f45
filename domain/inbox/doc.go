// Package inbox is what processors told unasked about one payment: kept first, applied when it can be (D14).
//
// There is one inbox per payment reference, whether or not that payment is known yet; and one per processor, which
// holds how far that processor's disputes have been looked through for notifications that were lost.
//
// Rules:
//
//   - A notification is received once, by the processor's event id: a repeat records nothing.
//   - The state names it with its outcome, and until it is settled with the revision of its event, where whoever
//     applies it finds what it told. That and the body stay in the event, for an auditor: in clear what the protocol
//     names, the rest sealed.
//   - It is settled once: applied, with what came of it, or rejected, with the reason. Applying is done by others
//     and may be done twice: what it leads to is recorded once by the payment's and the dispute's own rules.
//   - One whose payment has not appeared in maxWait is rejected, and so is one whose dispute cannot be read.
//   - An inbox takes maxNotices and no more: past it only what changes a dispute is taken, without being kept here;
//     else a processor is sent away.
//
// What it must not know: what a notification means for a payment or a dispute; signatures; where bodies come from.
//
// Design note. One stream per payment, and not one per notification: the history of a payment has all that was told
// about it in one read, and what is told twice meets in one place, guarded by the same compare-and-swap. What was told
// is no part of the state, which every further event of the stream repeats: with it 327 notifications of 0.9 KB took
// 43 MB for a payment that nobody knew.
package inbox
