// Package approvals starts, approves and aborts payment attempts in sessions with manual approval
// (§3.3, D12).
//
// The approval of an attempt records the decision and then creates the payment, in the order of
// package payments, under an id that is derived from the attempt. Repeated and concurrent
// completions are safe (D5.15). A payment that can never be created ends the attempt as refused,
// after its id was blocked on every node (D5.16). A session has one active attempt (§2.5); the
// attempt is durable before its session names it (D5.18, D5.19).
//
// After a crash, RecoverAttempt carries out the decision. It waits for no processor.
//
// The package must not know: processors, notifications, HTTP.
package approvals
