package projections

import (
	"fmt"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/attempt"
	"payledger/domain/dispute"
	"payledger/domain/inbox"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/domain/session"
	"payledger/domain/workflow"
	"payledger/eventstore"
)

// vocabulary is what this build knows of one aggregate: its schema and its event types.
type vocabulary struct {
	schema int
	types  map[string]bool
}

// vocabularies lists every aggregate of the log, also those that no view is made of: an event that is
// not in it may change a view in a way that this build cannot know, so it stops the projection.
var vocabularies = map[string]vocabulary{
	eventstore.Payments.Name:     words(eventstore.Payments.Schema, payment.Events()),
	eventstore.Sessions.Name:     words(eventstore.Sessions.Schema, session.Events()),
	eventstore.Instruments.Name:  words(eventstore.Instruments.Schema, instrument.Events()),
	eventstore.Attempts.Name:     words(eventstore.Attempts.Schema, attempt.Events()),
	eventstore.Accounts.Name:     words(eventstore.Accounts.Schema, account.Events()),
	eventstore.Disputes.Name:     words(eventstore.Disputes.Schema, dispute.Events()),
	eventstore.Inboxes.Name:      words(eventstore.Inboxes.Schema, inbox.Events()),
	eventstore.Logs.Name:         words(eventstore.Logs.Schema, []eventstore.LogInitialized{{}}),
	eventstore.Workflows.Name:    words(eventstore.Workflows.Schema, workflow.Events()),
	eventstore.WorkflowRuns.Name: words(eventstore.WorkflowRuns.Schema, workflow.RunEvents()),
}

func words[E domain.Event](schema int, events []E) vocabulary {
	v := vocabulary{schema: schema, types: map[string]bool{}}
	for _, e := range events {
		v.types[e.Type()] = true
	}
	return v
}

// understood refuses an event that this build does not know.
func understood(r *eventstore.Recorded) error {
	v, known := vocabularies[r.Aggregate]
	switch {
	case !known:
		return fmt.Errorf("%w: aggregate %q", eventstore.ErrUnknownEvent, r.Aggregate)
	case r.Schema > v.schema:
		return fmt.Errorf("%w: schema %d, known is %d", eventstore.ErrNewerSchema, r.Schema, v.schema)
	case !v.types[r.Type]:
		return fmt.Errorf("%w: %s", eventstore.ErrUnknownEvent, r.Type)
	}
	return nil
}
