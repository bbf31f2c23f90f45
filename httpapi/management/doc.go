// Package management serves the calls about the account itself (D20): API keys (D2), webhook
// endpoints (D18), routing (D15), processors, settings, the signing secret, dashboard users,
// disputes (D16) and the reconciliation with a processor's books (D14.16). It also serves the
// statistics of payments, the search and the audit log.
//
// A handler decodes, executes and responds. A change is answered when this node's views show it.
//
// The package must not know: how a caller is authenticated, how an answer is written, how a webhook
// is sent.
package management
