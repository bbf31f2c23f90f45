// Package customerpages has the dashboard's pages about customers (D5, D20): the list, one customer
// with payments, e-mail address and saved cards, and the erasure of the personal data.
//
// The erasure wants the customer's id typed, and carries the time of the newest erasure that its
// page showed. If the customer was erased since, nothing is done: a form that is sent again from
// another tab never erases what the customer entered after that erasure.
//
// A page has no payment method token: tokens are credentials. A processor's own token of a card is
// told by the name of the processor only.
//
// The package must not know: what an erasure destroys, and in which order.
package customerpages

import (
	"embed"

	"payledger/httpapi/dashboard/frame"
)

// Files has the templates.
//
//go:embed templates
var Files embed.FS

const (
	pathCustomers = "/dashboard/customers"
	pathOne       = pathCustomers + "/one"   // with the parameter id: an id may have slashes
	pathErase     = pathCustomers + "/erase" // likewise

	apiCustomers = "/management/customers"
	apiPayments  = "/management/payments"
)

// Routes are the pages and forms.
var Routes = map[string]frame.Screen{
	"GET " + pathCustomers: list,
	"GET " + pathOne:       frame.With(open, show),
	"GET " + pathErase:     frame.Admins(frame.With(open, ask)),
	"POST " + pathErase:    frame.Admins(frame.SentWith(open, erase)),
}
