// Package reconcile holds the ledger of one account to a processor's books, both ways (I1, D14): what is missing here,
// what is missing there, and what differs.
//
// Passes over streams, so that memory stays the same however much there is. The ledger's pass takes every payment at its
// newest event and looks its operations up by reference: it finds what is missing there. The books' pass takes every
// operation that the processor created in the time and looks up its payment: it finds what is missing here, and other
// amounts, states and merchant accounts. Then the same, both ways, for disputes: notification by notification, also those
// that never came.
//
// Rules:
//   - An operation of ours stands in the books under its key; one that was found there (§6.3) is known here by the
//     processor's id. What somebody else asked for and did not happen is no difference.
//   - The time concerns the processor's creation of an operation; of one that is missing there, our request.
//   - What was asked for and has no answer yet is not compared, and counted as open: the service is asking (D8). One
//     that the processor accepted and decided, and whose decision is not known here, is another state.
//   - A difference is reported after both sides were read once more and still differ: what happened between the two
//     reads of a running service is none.
//   - An operation in the books belongs to the account when its reference is a payment of the account, or when it was
//     made under the account's merchant account there.
//
// What it must not know: how a processor is reached, who asks, how differences are shown.
package reconcile
