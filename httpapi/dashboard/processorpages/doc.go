// Package processorpages has the dashboard's pages about processors and routing (D15, D20): the
// merchant's accounts at the processors, the routing rules in their order, and the question which
// processor would take a payment.
//
// A form about a rule carries a mark of all rules as the page showed them. If the rules have
// changed since, nothing is done: the rule may have moved. So a double click, a second tab or the
// back button changes nothing twice. The form about a processor carries a mark of the processor.
//
// The package must not know: how a rule matches. The API answers that with the rules of payments
// themselves.
package processorpages

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
	pathProcessors = "/dashboard/processors"
	pathRules      = "/dashboard/routing/rules"
	pathDefault    = "/dashboard/routing/default"

	apiProcessors = "/management/processors"
	apiRouting    = "/management/routing"
	apiPreview    = "/management/routing/preview"
	apiPayments   = "/management/payments"
)

// Routes are the pages and forms.
var Routes = map[string]frame.Screen{
	"GET " + pathProcessors:              overview,
	"GET " + pathProcessors + "/{name}":  frame.Admins(frame.With(openProcessor, askProcessor)),
	"POST " + pathProcessors + "/{name}": frame.Admins(frame.SentWith(openProcessor, changeProcessor)),
	"GET " + pathRules + "/new":          frame.Admins(frame.With(openRule, askRule)),
	"POST " + pathRules + "/new":         frame.Admins(frame.SentWith(openRule, saveRule)),
	"GET " + pathRules + "/{place}":      frame.Admins(frame.With(openRule, askRule)),
	"POST " + pathRules + "/{place}":     frame.Admins(frame.SentWith(openRule, saveRule)),
	"POST " + pathRules + "/move":        frame.Admins(frame.SentWith(readRouting, moveRule)),
	"GET " + pathRules + "/remove":       frame.Admins(frame.With(readRouting, askRemove)),
	"POST " + pathRules + "/remove":      frame.Admins(frame.SentWith(readRouting, removeRule)),
	"GET " + pathDefault:                 frame.Admins(frame.With(openDefault, askDefault)),
	"POST " + pathDefault:                frame.Admins(frame.SentWith(openDefault, saveDefault)),
}
