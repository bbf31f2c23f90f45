// Package disputepages has the dashboard's pages about disputes (D16): the list, which begins with
// the nearest deadlines, and one dispute with the history of its notifications.
//
// The package must not know: which fact of a processor is possible. The API gives a verdict about
// each.
package disputepages

import (
	"embed"

	"payledger/httpapi/dashboard/frame"
)

// Files has the templates.
//
//go:embed templates
var Files embed.FS

const (
	pathDisputes = "/dashboard/disputes"
	apiDisputes  = "/management/disputes"
)

// Routes are the pages.
var Routes = map[string]frame.Screen{
	"GET " + pathDisputes:           list,
	"GET " + pathDisputes + "/{id}": show,
}
