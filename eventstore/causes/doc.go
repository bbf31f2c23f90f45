// Package causes finds the webhooks that an event of the log causes: it reads the payment before and after the event and
// applies the rules of package webhook (§6.2, D17).
//
// The notifier plans webhooks and the workflows start runs by these functions, so both see the same causes (D19). They
// read the log and no views, so an event has the same causes whenever it is planned.
//
// An event of an unknown aggregate or type, or of a newer schema, is an error: a newer build wrote it, and to skip it
// would lose its webhooks.
//
// The package must not know: endpoints, payloads, workflows.
package causes
