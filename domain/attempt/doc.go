// Package attempt is the payment attempt aggregate: a payment of a MANUAL session that waits until
// the merchant approves or aborts it (§2.6, §3.3, D5, D12).
//
// Rules:
//
//   - An attempt is decided once. The first decision counts; a repeat of it changes nothing.
//   - It expires with its session's token. Expiry records no event.
//   - The consequence of a decision (the payment, or the end of the token) follows after the
//     decision is durable, and is then recorded as completed. A decided attempt that is not
//     completed is left over from a crash; any node completes it.
//   - An approval whose payment can never be made is recorded as refused. The attempt then counts
//     as aborted.
//
// An approval names the approved revision of the session, so that a later payment has the approved
// terms. The package must not know how a payment is made.
package attempt
