// Package approvalpages has the dashboard's pages about payment attempts that wait for a decision
// (§3.3, D12, D20): the list, which begins with the attempts that expire first, and one attempt
// with the forms that approve and abort it.
//
// A form is about the price that its page showed: if the session has another price by then, nothing
// is done. The API makes one payment of an attempt, however often it is approved: so a double
// click, a second tab or the back button leads to the same payment.
//
// The package must not know: whether an attempt can be approved. The API refuses it then.
package approvalpages

import (
	"embed"

	"payledger/httpapi/dashboard/frame"
)

// Files has the templates.
//
//go:embed templates
var Files embed.FS

const (
	pathApprovals = "/dashboard/approvals"
	apiWaiting    = "/management/payment-attempts"
)

// Routes are the pages and forms.
var Routes = map[string]frame.Screen{
	"GET " + pathApprovals:                    list,
	"GET " + pathApprovals + "/{id}":          frame.With(open, show),
	"POST " + pathApprovals + "/{id}/approve": frame.Admins(frame.SentWith(open, approve)),
	"POST " + pathApprovals + "/{id}/abort":   frame.Admins(frame.SentWith(open, abort)),
}
