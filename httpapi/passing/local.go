package passing

import (
	"net/http"
	"strings"
)

// local has the calls that need no views, in the patterns of http.ServeMux: what a merchant and a
// customer's browser do on the way of a payment.
var local = []string{
	"/healthz", "/readyz", "/openapi.yaml", "/asyncapi.yaml", "/docs", "/docs/",
	"/client-session", "POST /payments", "GET /payments/{id}", "GET /payments/{id}/events",
	"POST /payments/{id}/resume", "POST /payments/{id}/cancel", "POST /payments/{id}/capture", "POST /payments/{id}/refund",
	"POST /payments/{id}/adjust-authorization",
	"POST /payment-instruments", "/payment-attempts", "/payment-attempts/", "/required-actions/complete",
	"POST /checkout/payments", "/checkout/payments/", "/checkout/assets/", "/checkout/payledger-checkout.js", "/checkout/challenge", "/checkout/challenge/return",
	"GET /events", "GET /events/stream",
	"GET /management/api-keys", // each node knows the uses that it served
	"GET /management/payments/{id}", "GET /management/payments/{id}/events", "POST /management/payments/{id}/cancel",
	"POST /management/payments/{id}/capture", "POST /management/payments/{id}/refund",
	"GET /management/webhook-listeners/{id}/stream", "POST /management/webhook-listeners/{id}/answers", // the two calls must meet at one node
	"GET /management/request-log", "GET /management/request-log/stream", // of the requests that this node answers
}

var locals = func() *http.ServeMux {
	mux := http.NewServeMux()
	for _, pattern := range local {
		mux.Handle(pattern, http.NotFoundHandler())
	}
	return mux
}()

// Local reports whether a node answers a request without views.
func Local(r *http.Request) bool {
	switch r.Method {
	case http.MethodOptions, http.MethodConnect: // the first names the methods of a path, the second is no request for one
		return true
	}
	plain := *r
	target := *r.URL
	if len(target.Path) > 1 {
		target.Path, target.RawPath = strings.TrimSuffix(target.Path, "/"), ""
	}
	plain.URL = &target
	_, pattern := locals.Handler(&plain)
	return pattern != ""
}
