// Package audit has the commands of auditors (I1): History replays one payment, Verify checks the whole log, Reconcile compares the
// ledger with a processor's books, and Rebuild makes the read models again from the log.
//
// Rules: all read a running server, or the folder of a stopped server, and change no ledger; Rebuild replaces views. They print each
// entry as soon as it is read and keep none. Exit statuses of Reconcile: 0 no differences, 1 differences, 2 the comparison
// did not end (TroubleError).
//
// What it must not know: the service's parts and how they start.
package audit
