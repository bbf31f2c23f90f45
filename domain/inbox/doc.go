// Package inbox is what processors told unasked about one payment: kept first, applied when it can be (D14).
//
// There is one inbox per payment reference, whether or not that payment is known yet; and one per processor, which
// holds how far that processor's disputes have been looked through for notifications that were lost.
//
// Rules:
//
//   - A notification is received once, by the processor's event id: a repeat records nothing.
//   - Until it is settled it stands in the state whole, so that whoever finds it can apply it; afterwards only its
//     name and its outcome do. The body as it came stays in its event, for an auditor.
//   - It is settled once: applied, with what came of it, or rejected, with the reason. Applying is done by others
//     and may be done twice: what it leads to is recorded once by the payment's and the dispute's own rules.
//   - One whose payment has not appeared in maxWait is rejected.
//   - An inbox takes maxNotices and no more: past it a processor is sent away, and what it tells is found by
//     asking.
//
// What it must not know: what a notification means for a payment or a dispute; signatures; where bodies come from.
//
// Design note. One stream per payment, and not one per notification: the history of a payment has all that was told
// about it in one read, and what is told twice meets in one place, guarded by the same compare-and-swap.
package inbox
