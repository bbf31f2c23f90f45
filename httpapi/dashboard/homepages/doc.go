// Package homepages has the dashboard's start page, with the figures of today, the page with the
// statistics and their charts, and the search for any id.
package homepages

import (
	"embed"

	"payledger/httpapi/dashboard/frame"
)

// Files has the templates.
//
//go:embed templates
var Files embed.FS

const pathHome = "/dashboard"

// Routes are the pages.
var Routes = map[string]frame.Screen{
	"GET " + pathHome:             home,
	"GET " + pathHome + "/{$}":    home,
	"GET " + pathHome + "/search": search,
	"GET " + pathStatistics:       showStatistics,
}
