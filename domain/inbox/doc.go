// Package inbox stores the notifications of processors about a payment before they are applied
// (D14.5).
//
// There is one inbox per payment reference, even if the payment is not known yet. There is also one
// per processor, which records how far that processor's list of dispute notifications was read in
// search of lost ones.
//
// Rules:
//
//   - A notification is received once by the processor's event id: a repeat records nothing.
//   - The state names a notification with its outcome and, while it waits, with the revision of its
//     Received event. Only that event has the content: in clear the fields of the protocol, the
//     rest sealed.
//   - A waiting notification ends once: applied, with the resulting event, or rejected, with the
//     reason. Other packages apply it, perhaps twice: payment and dispute record its content once.
//   - It is rejected if its payment does not appear within maxWait, or if its dispute cannot be
//     read.
//   - An inbox has at most maxNotifications. A full inbox takes only changes of a dispute, without
//     storing the notification; the processor gets an error for any other.
//
// It must not know: the effect of a notification on a payment or a dispute, signatures, the
// transport.
//
// Design note. One inbox per payment, not per notification: one read returns all notifications of a
// payment, and a repeat meets the first in one place, guarded by the same compare-and-swap. The
// content is not in the state, which every event of the inbox repeats: with it, 327 notifications
// of 0.9 KB for an unknown payment took 43 MB.
package inbox
