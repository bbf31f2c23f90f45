// Package web runs HTTP servers: with time limits for every request, caps on connections, and a
// second server that answers the connections beyond the caps (package intake). A Door exchanges the
// handler while the server listens.
//
// The package must not know: routes, the log, payments.
package web
