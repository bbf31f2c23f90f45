// Package settingspages has the dashboard's page of the account's settings (D20): what they are,
// the form that changes them, and before the change a page that compares before and after.
//
// A form carries a mark of all settings as its page showed them. If they have changed since, by
// another tab, user or program, nothing is done: the form comes back with its input and the
// settings that apply now. Only the fields that the user has changed are sent.
//
// The package must not know: which values are valid. The API refuses the others.
package settingspages

import (
	"embed"

	"payledger/httpapi/dashboard/frame"
)

// Files has the templates.
//
//go:embed templates
var Files embed.FS

const (
	pathSettings = "/dashboard/settings"
	apiSettings  = "/management/settings"
)

// Routes are the page and its form.
var Routes = map[string]frame.Screen{
	"GET " + pathSettings:  frame.With(open, show),
	"POST " + pathSettings: frame.Admins(frame.SentWith(open, change)),
}
