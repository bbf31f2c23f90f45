// Package receiver is the ledger's address for notifications in a run of the checks of a connector:
// it keeps what comes, and refuses what a check says.
//
// It must not know: the checks, and what a notification means.
package receiver
