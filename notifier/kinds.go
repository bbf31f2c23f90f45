package notifier

import (
	"fmt"
	"strings"

	"payledger/eventstore"
)

// Kind is a webhook's eventType (§6.2).
type Kind string

// PaymentStatus tells that the payment's status changed, or that a wait began (D17).
const PaymentStatus Kind = "PAYMENT.STATUS"

// versions is the payload version of each kind (§9, D17).
var versions = map[Kind]string{PaymentStatus: "2.1"}

// token is the kind as one token of a delivery's name.
func (k Kind) token() string { return strings.ReplaceAll(string(k), ".", "-") }

// kindsOf is the whole table: event type → the webhooks it causes (§6.2, D17). Every event of an aggregate
// that webhooks tell about has a row, those that cause none too: a type that is not here stops the planner.
var kindsOf = map[string][]Kind{
	"payment.created":                 nil, // PENDING at first is the answer to the request itself
	"payment.authorized":              {PaymentStatus},
	"payment.declined":                {PaymentStatus},
	"payment.authorization_failed":    {PaymentStatus},
	"payment.authorization_pending":   {PaymentStatus}, // an asynchronous wait begins
	"payment.authorization_timed_out": nil,             // the status stays; the outcome will be told
}

// told are the aggregates that webhooks tell about, with the schema that this build can render.
var told = map[string]int{eventstore.Payments.Name: eventstore.Payments.Schema}

// untold are the aggregates that webhooks never tell about.
var untold = map[string]bool{
	eventstore.Sessions.Name: true, eventstore.Instruments.Name: true, eventstore.Accounts.Name: true,
	eventstore.Barriers.Name: true, eventstore.Logs.Name: true,
}

// webhooks gives the kinds that an event causes, from its headers alone. An event that this build does not
// know is an error: a newer build wrote it, and skipping it would lose its webhooks.
func webhooks(r *eventstore.Recorded) ([]Kind, error) {
	if untold[r.Aggregate] {
		return nil, nil
	}
	schema, known := told[r.Aggregate]
	if !known {
		return nil, fmt.Errorf("notifier: %w: aggregate %q", eventstore.ErrUnknownEvent, r.Aggregate)
	}
	if r.Schema > schema {
		return nil, fmt.Errorf("notifier: %w: schema %d, known is %d", eventstore.ErrNewerSchema, r.Schema, schema)
	}
	kinds, known := kindsOf[r.Type]
	if !known {
		return nil, fmt.Errorf("notifier: %w: %q", eventstore.ErrUnknownEvent, r.Type)
	}
	return kinds, nil
}
