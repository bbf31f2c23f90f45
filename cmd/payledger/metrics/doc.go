// Package metrics exports the metrics of operators (D8, D18): operations without an outcome, webhooks, requests, and the
// state of the log.
//
// Rules: reading the metrics changes nothing and waits for no processor. A source that fails leaves its metrics out; the
// others are shown.
package metrics
