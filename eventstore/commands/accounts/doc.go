// Package accounts changes an account: its API keys, signing secret, dashboard users, processors,
// routing, settings, webhook endpoints and workflows (D15, D18, D19, D20). It also creates the
// first account of a log (I1).
//
// A secret is stored before the event that names it, under a new number: no value is overwritten.
// After a crash in between, the secret is unused and the caller repeats the command. Texts of keys
// and secrets are returned once (D2).
//
// The package must not know: payments, processors' answers, HTTP. Its callers check URLs and the
// conditions of workflows.
package accounts
