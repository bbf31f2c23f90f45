// Package audit has the commands of auditors (I1): History replays one payment, Verify checks the
// whole log, Reconcile compares the ledger with a processor's books, and Rebuild rebuilds the read
// models from the log.
//
// Rules: each command reads a running server, or the folder of a stopped server; Verify also reads
// the NATS servers of a cluster. No command changes
// the log; Rebuild replaces views. A command prints each entry as soon as it is read, and keeps no
// entries in memory. Exit statuses of Reconcile: 0 no differences, 1 differences, 2 the comparison
// is incomplete (TroubleError).
//
// The package must not know: the service's parts and how they start.
package audit
