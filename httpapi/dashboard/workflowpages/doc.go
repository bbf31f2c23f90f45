// Package workflowpages has the dashboard's pages about workflows (D19): the list, one workflow
// with its versions and runs, the editor, the simulation on past payments, and the pages that
// enable and disable.
//
// The editor works without the script: a button checks the condition, adds or moves an action, or
// continues. Before a definition is saved, the API applies it to the payments of a period without
// acting, and the page shows the result. The script checks the condition while it is written, with
// the same button's request.
//
// The package must not know: how a condition is compiled and how a workflow runs.
package workflowpages

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
	pathWorkflows = "/dashboard/workflows"
	apiWorkflows  = "/management/workflows"
)

// Routes are the pages and forms.
var Routes = map[string]frame.Screen{
	"GET " + pathWorkflows:                    list,
	"GET " + pathWorkflows + "/new":           frame.Admins(frame.With(opened, edit)),
	"POST " + pathWorkflows + "/new":          frame.Admins(frame.SentWith(opened, write)),
	"GET " + pathWorkflows + "/{id}":          frame.With(flowOf, show),
	"GET " + pathWorkflows + "/{id}/edit":     frame.Admins(frame.With(opened, edit)),
	"POST " + pathWorkflows + "/{id}/edit":    frame.Admins(frame.SentWith(opened, write)),
	"GET " + pathWorkflows + "/{id}/simulate": frame.With(flowOf, try),
	"GET " + pathWorkflows + "/{id}/enable":   frame.Admins(frame.With(openSwitch, askSwitch)),
	"POST " + pathWorkflows + "/{id}/enable":  frame.Admins(frame.SentWith(openSwitch, turn)),
	"GET " + pathWorkflows + "/{id}/disable":  frame.Admins(frame.With(openSwitch, askSwitch)),
	"POST " + pathWorkflows + "/{id}/disable": frame.Admins(frame.SentWith(openSwitch, turn)),
}
