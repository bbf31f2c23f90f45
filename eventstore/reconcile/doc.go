// Package reconcile compares the ledger of one account with a processor's books, both ways (I1, D14.16): it finds operations
// that are missing here, missing there, or different.
//
// Passes over streams, so that memory stays the same however much there is. The ledger's pass takes every payment at its
// newest event and looks its operations up by reference: it finds what is missing there. The books' pass takes every
// operation that the processor created in the time and looks up its payment: it finds what is missing here, and other
// amounts, states, transactions and merchant accounts. Then the same, both ways, for disputes: notification by notification, also those
// that never came.
//
// Rules:
//   - An operation of ours stands in the books under its key; one that was found there (§6.3) is known here by the
//     processor's id. An out-of-band operation that did not happen is no difference.
//   - The time concerns the processor's creation of an operation; of one that is missing there, our request.
//   - A request without a result on either side is not compared, and counted as open: the service asks about it (D8). A result that the processor has and that is not known here is another state as soon as it is older than the
//     grace time (Reconciler.Grace; of a server the payment timeout, within which the answer itself may come); before it
//     is counted as too fresh to judge, since its notification may be on its way. So is a dispute notification that did
//     not arrive. In a stopped server's folder nothing is on its way: there every one of them is a difference.
//   - A key is done once: of several operations under it the one of our transaction is ours, else the first, and the
//     others are missing here, by the processor's ids.
//   - A difference is reported after both sides were read once more and still differ: what happened between the two
//     reads of a running service is none.
//   - An operation in the books belongs to the account when its reference is a payment of the account; or when it was
//     made under a merchant account that the account has or ever had there, and its reference is no payment of another
//     account that shares it. An operation of no known payment is reported to all that share it.
//
// What it must not know: how a processor is reached, who asks, how differences are shown.
package reconcile
