// Package reconcile compares the ledger of one account with a processor's books, both ways (I1,
// D14.16): it finds operations that are missing in the ledger, missing in the books, or different.
//
// The package reads both sides as streams, so memory does not grow with their size. The ledger's
// pass looks up the operations of every payment in the books, by the payment's reference, and finds
// operations that the books lack. The books' pass looks up the payment of every operation that the
// processor created in the period. It finds operations that the ledger lacks, and other amounts,
// states, transactions and merchant accounts. Disputes are compared both ways, too, notification by
// notification.
//
// Rules:
//   - The books have an operation of ours under its key. The ledger knows an out-of-band operation
//     (§6.3) by the processor's id. An out-of-band operation that did not happen is no difference.
//   - The period applies to the processor's creation of an operation, or to our request if the
//     books lack the operation.
//   - A verification of a card (D5.11) is an authorization of 0 under a reference of its own, which
//     derives from the token. It is compared as an operation. It is no payment, and moves no money:
//     a verification without a result here may have any result there.
//   - The books may lack a completion (D7), or have it as refused because the customer's action had
//     ended: a message had the result of the authorization first. The authorization is compared.
//   - A request without a result on either side is not compared, and counted as open: the service
//     asks about it (D8).
//   - A result that only the processor has is a different state once it is older than the grace
//     time (Reconciler.Grace; at a server the payment timeout, within which the answer may come). A
//     younger result is counted as too fresh to judge: its notification may be on its way. The same
//     holds for a dispute notification that did not arrive. In a stopped server's folder nothing is
//     on its way, so each of them is a difference.
//   - A key takes effect once. Of several operations under a key, the operation with our
//     transaction is ours, or else the first. The ledger lacks the others, which are named by the
//     processor's ids.
//   - A payment whose operations in the books cannot all be read is a difference of its own. Its
//     operations are not reported as missing there: one of them may be the entry that cannot be
//     read. The comparison goes on. A list by time with an entry whose payment cannot be read is an
//     error: it may be anybody's. The same holds for the notifications about its disputes, which
//     are a difference of their own.
//   - An operation that stands in the list by time alone, and not in the list of its payment, is
//     compared as it stands there.
//   - A difference is reported after both sides were read once more and still differ, because a
//     running service changes between two reads.
//   - An operation in the books belongs to the account if its reference is a payment of the
//     account. It also belongs to the account if the account has or had its merchant account there,
//     and its reference is no payment of another account that shares the merchant account. An
//     operation of an unknown payment is reported to all accounts that share it.
//
// The package must not know: how a processor is reached, which command compares, how differences
// are shown.
package reconcile
