// Package metrics exports the metrics of operators (D8, D18): operations without an outcome,
// webhooks, requests and their durations, and the state of the log.
//
// Rules: reading the metrics changes nothing and waits for no processor. If a source fails, only
// its metrics are missing.
//
// The tests stand in cmd/payledger/servicetest, in a program that has the whole service anyway.
package metrics
