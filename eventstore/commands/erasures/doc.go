// Package erasures erases persons: customers by their id, and guests by a payment.
//
// The order is durable: person.erased is in the log before anything is destroyed. From then on the
// person's data reads as erased. Then the vaulted cards of a customer are deleted, the guests of
// the customer's client sessions are erased, each with events of their own, and the key is
// destroyed in SECRETS; at the end person.key_destroyed is recorded.
//
// A call erases what is there when it is carried out. Whatever a crash or a full disk leaves
// undone, FinishErasure continues, with the cards and sessions that belonged to the customer at the
// time of person.erased. Those of a minute after it count, too: a node's clock may be ahead, and
// nothing that the customer had before may stay. A finished erasure only destroys the erased
// numbers of its own key again: requests that began before an erasure may end after it. The
// recovery calls FinishErasure for every erasure at a start, for unfinished ones again and again,
// and for each new one for some minutes.
//
// Client sessions without a customerId have a key of their own. They belong to a customer if a
// payment of the session names the customer, if the session named the customer at any time, or if a
// card of the session is vaulted for the customer.
//
// Captures and refunds of the person's payments go on: they need no personal data.
//
// The package must not know: the personal data, HTTP, what callers may do.
package erasures
