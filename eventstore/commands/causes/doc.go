// Package causes finds the webhooks that an event of the log causes: it reads the payment before
// and after the event and applies the rules of package webhook (§6.2, D17).
//
// The notifier plans webhooks and package workflows starts runs with these functions, so both have
// the same causes (D19). The functions read the log and no views, so an event has the same causes
// whenever it is planned.
//
// An event of an unknown aggregate or type, or of a newer schema, is an error: a newer build wrote
// the event, and skipping it would lose its webhooks.
//
// The package must not know: endpoints, payloads, workflows.
package causes
