// Package webhookpages has the dashboard's pages about webhooks: the endpoints with their health
// and tests, the deliveries with their attempts, replays, and the signing secret (§5.2, §6.1, D18,
// D20).
//
// Rules:
//   - An endpoint's health is derived from its deliveries, as the API lists them.
//   - A replay shows the number of its webhooks before it starts.
//   - A new signing secret is shown once, in the answer to the form that made it.
//   - Every form that has an effect does it once: by an idempotency key, or by a check that nothing
//     changed since the form was shown.
//
// The package must not know: how webhooks are planned, signed and sent.
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
	"POST /dashboard/endpoints/new":          frame.Admins(frame.Sent(create)),
	"GET /dashboard/endpoints/{id}":          frame.With(endpointOf, showEndpoint),
	"GET /dashboard/endpoints/{id}/edit":     frame.Admins(frame.With(endpointOf, askEdit)),
	"POST /dashboard/endpoints/{id}/edit":    frame.Admins(frame.SentWith(endpointOf, edit)),
	"GET /dashboard/endpoints/{id}/delete":   frame.Admins(frame.With(endpointOf, askDelete)),
	"POST /dashboard/endpoints/{id}/delete":  frame.Admins(frame.Sent(remove)),
	"GET /dashboard/endpoints/{id}/test":     frame.Operators(frame.With(endpointOf, askTest)),
	"POST /dashboard/endpoints/{id}/test":    frame.Operators(frame.SentWith(endpointOf, sendTest)),
	"GET /dashboard/deliveries":              list,
	"GET /dashboard/deliveries/{id}":         frame.With(deliveryOf, show),
	"GET /dashboard/deliveries/{id}/resend":  frame.Operators(frame.With(deliveryOf, askResend)),
	"POST /dashboard/deliveries/{id}/resend": frame.Operators(frame.SentWith(deliveryOf, resend)),
	"GET /dashboard/bulk/resend":             frame.Operators(askBulk),
	"POST /dashboard/bulk/resend":            frame.Operators(frame.Sent(resendBulk)),
	"GET /dashboard/replays/new":             frame.Operators(askReplay),
	"POST /dashboard/replays/new":            frame.Operators(frame.Sent(startReplay)),
	"GET /dashboard/replays/{id}":            showReplay,
	"GET /dashboard/signing-secret":          frame.With(present, signing),
	"GET /dashboard/signing-secret/rotate":   frame.Admins(frame.With(present, askRotate)),
	"POST /dashboard/signing-secret/rotate":  frame.Admins(frame.Sent(rotate)),
}
