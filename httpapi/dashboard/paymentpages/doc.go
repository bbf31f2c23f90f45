// Package paymentpages has the dashboard's pages about payments: the list with its filters, files
// of payments and of movements of money, one payment with its timeline and time travel, and the
// forms that capture, refund, cancel and erase.
//
// The file of movements has the captures, refunds and steps of disputes of some days, by their own
// dates, whenever their payments were created: it is read from the events of the log. The file of
// payments, as the statistics, takes a payment for the day of its creation.
//
// The form of an operation carries the revision of the payment that it showed. The operation is
// refused if the payment has another one, and the form comes back with the new amounts: two tabs do
// not refund twice. A repeat under the form's idempotency key stays one operation.
//
// A bulk refund carries the payments that the user saw, each with its amount and revision, and each
// is refunded under a key of its own. So the form can be sent again until nothing is left.
//
// The package must not know: how a payment's status follows from its facts. The API decides whether
// an operation is allowed.
package paymentpages

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
	pathPayments = "/dashboard/payments"
	apiPayments  = "/management/payments"
	apiEndpoints = "/management/webhook-endpoints"
)

// Routes are the pages and forms.
var Routes = map[string]frame.Screen{
	"GET /dashboard/payments":                   list,
	"GET /dashboard/payments.csv":               exportPayments,
	"GET /dashboard/movements.csv":              exportMovements,
	"GET /dashboard/payments/{id}":              show,
	"GET /dashboard/payments/{id}/proof":        proof,
	"GET /dashboard/bulk/refund":                frame.Operators(askBulk),
	"POST /dashboard/bulk/refund":               frame.Operators(frame.Sent(refundBulk)),
	"GET /dashboard/payments/{id}/erase":        frame.Admins(frame.With(openGuest, askErasure)),
	"POST /dashboard/payments/{id}/erase":       frame.Admins(frame.SentWith(openGuest, eraseGuest)),
	"GET /dashboard/payments/{id}/{operation}":  frame.Operators(frame.With(open, ask)),
	"POST /dashboard/payments/{id}/{operation}": frame.Operators(frame.SentWith(open, operate)),
}
