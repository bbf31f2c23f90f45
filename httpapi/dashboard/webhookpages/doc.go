// Package webhookpages has the dashboard's pages about webhooks: the endpoints with their health and tests, the deliveries with their
// attempts, replays, and the signing secret (§5.2, §6.1, D18, D20).
//
// Rules:
//   - An endpoint's health is derived from its deliveries, as the API lists them.
//   - A replay shows the number of its webhooks before it starts.
//   - A new signing secret is shown once, in the answer to the form that made it.
//   - Every form that has an effect does it once: by an idempotency key, or by a check that nothing changed since the form was shown.
//
// What it must not know: how webhooks are planned, signed and sent.
package webhookpages

import (
	"embed"

	"payledger/httpapi/dashboard/frame"
)

// Files has the templates.
//
//go:embed templates
var Files embed.FS

// The addresses of pages and the paths of the API.
const (
	pathEndpoints  = "/dashboard/endpoints"
	pathDeliveries = "/dashboard/deliveries"
	pathReplays    = "/dashboard/replays"
	pathSigning    = "/dashboard/signing-secret"
	apiEndpoints   = "/management/webhook-endpoints"
	apiDeliveries  = "/management/webhook-deliveries"
	apiReplays     = "/management/webhook-replays"
	apiSigning     = "/management/signing-secret"
)

// Routes are the pages and forms.
var Routes = map[string]frame.Screen{
	"GET /dashboard/endpoints":               endpoints,
	"GET /dashboard/endpoints/new":           frame.Admins(askCreate),
	"POST /dashboard/endpoints/new":          frame.Admins(create),
	"GET /dashboard/endpoints/{id}":          showEndpoint,
	"GET /dashboard/endpoints/{id}/edit":     frame.Admins(askEdit),
	"POST /dashboard/endpoints/{id}/edit":    frame.Admins(edit),
	"GET /dashboard/endpoints/{id}/delete":   frame.Admins(askDelete),
	"POST /dashboard/endpoints/{id}/delete":  frame.Admins(remove),
	"GET /dashboard/endpoints/{id}/test":     frame.Operators(askTest),
	"POST /dashboard/endpoints/{id}/test":    frame.Operators(sendTest),
	"GET /dashboard/deliveries":              list,
	"GET /dashboard/deliveries/{id}":         show,
	"GET /dashboard/deliveries/{id}/resend":  frame.Operators(askResend),
	"POST /dashboard/deliveries/{id}/resend": frame.Operators(resend),
	"GET /dashboard/replays/new":             frame.Operators(askReplay),
	"POST /dashboard/replays/new":            frame.Operators(startReplay),
	"GET /dashboard/replays/{id}":            showReplay,
	"GET /dashboard/signing-secret":          signing,
	"GET /dashboard/signing-secret/rotate":   frame.Admins(askRotate),
	"POST /dashboard/signing-secret/rotate":  frame.Admins(rotate),
}
