// Package reconcilepages has the dashboard's pages that compare the ledger with the processors'
// books (D14.16, D20): the form that starts a comparison, those that were made, and one of them
// with its progress and its differences.
//
// A comparison runs in the background and changes nothing, neither here nor at the processor. A
// double click or a second tab leads to the comparison that runs already.
//
// The package must not know: what a difference is. The API compares.
package reconcilepages

import (
	"embed"

	"payledger/httpapi/dashboard/frame"
)

// Files has the templates.
//
//go:embed templates
var Files embed.FS

const (
	pathRuns = "/dashboard/reconciliation"
	apiRuns  = "/management/reconciliation-runs"
)

// Routes are the pages and the form.
var Routes = map[string]frame.Screen{
	"GET " + pathRuns:           list,
	"POST " + pathRuns:          frame.Operators(frame.Sent(start)),
	"GET " + pathRuns + "/{id}": show,
}
