// Package accountpages has the dashboard's pages about the account: API keys, users, the audit log.
//
// The package must not know: how keys and passwords are made and stored.
package accountpages

import (
	"embed"

	"payledger/httpapi/dashboard/frame"
)

// Files has the templates.
//
//go:embed templates
var Files embed.FS

const (
	pathKeys  = "/dashboard/api-keys"
	pathUsers = "/dashboard/users"
	pathAudit = "/dashboard/audit-log"
)

// Routes are the pages and forms.
var Routes = map[string]frame.Screen{
	"GET " + pathKeys:                   keys,
	"POST " + pathKeys:                  frame.Admins(frame.Sent(createKey)),
	"GET " + pathKeys + "/{id}/revoke":  frame.Admins(frame.With(keyOf, askRevoke)),
	"POST " + pathKeys + "/{id}/revoke": frame.Admins(frame.Sent(revoke)),
	"GET " + pathUsers:                  users,
	"POST " + pathUsers:                 frame.Admins(frame.Sent(addUser)),
	"GET " + pathUsers + "/{id}":        frame.Admins(user),
	"POST " + pathUsers + "/{id}":       frame.Admins(frame.Sent(changeUser)),
	"GET " + pathAudit:                  audit,
}
