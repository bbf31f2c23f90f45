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
	"net/http"

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
	"GET /dashboard/endpoints/new":           admins(askCreate),
	"POST /dashboard/endpoints/new":          create,
	"GET /dashboard/endpoints/{id}":          showEndpoint,
	"GET /dashboard/endpoints/{id}/edit":     admins(askEdit),
	"POST /dashboard/endpoints/{id}/edit":    edit,
	"GET /dashboard/endpoints/{id}/delete":   admins(askDelete),
	"POST /dashboard/endpoints/{id}/delete":  remove,
	"GET /dashboard/endpoints/{id}/test":     operators(askTest),
	"POST /dashboard/endpoints/{id}/test":    sendTest,
	"GET /dashboard/deliveries":              list,
	"GET /dashboard/deliveries/{id}":         show,
	"GET /dashboard/deliveries/{id}/resend":  operators(askResend),
	"POST /dashboard/deliveries/{id}/resend": resend,
	"GET /dashboard/replays/new":             operators(askReplay),
	"POST /dashboard/replays/new":            startReplay,
	"GET /dashboard/replays/{id}":            showReplay,
	"GET /dashboard/signing-secret":          signing,
	"GET /dashboard/signing-secret/rotate":   admins(askRotate),
	"POST /dashboard/signing-secret/rotate":  rotate,
}

// admins and operators show a form only to users whose role may send it. The API checks the role of the sender again.
func admins(s frame.Screen) frame.Screen {
	return allowed(s, func(v *frame.Visit) bool { return v.Admin() })
}

func operators(s frame.Screen) frame.Screen {
	return allowed(s, func(v *frame.Visit) bool { return !v.Auditor() })
}

func allowed(s frame.Screen, may func(*frame.Visit) bool) frame.Screen {
	return func(v *frame.Visit) error {
		if !may(v) {
			return &frame.Failure{Status: http.StatusForbidden, ID: "MissingScope", Text: "The role " + string(v.User.Role) + " does not allow this."}
		}
		return s(v)
	}
}
