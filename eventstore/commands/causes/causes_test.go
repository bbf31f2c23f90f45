package causes

import (
	"errors"
	"testing"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/attempt"
	"payledger/domain/dispute"
	"payledger/domain/inbox"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/domain/person"
	"payledger/domain/session"
	"payledger/domain/webhook"
	"payledger/domain/workflow"
	"payledger/eventstore"
	"payledger/eventstore/format"
)

// TestEveryAggregate checks that each aggregate is known, and that an unknown event is an error.
func TestEveryAggregate(t *testing.T) {
	t.Parallel()
	events := map[string]domain.Event{
		eventstore.Payments.Name: payment.Events()[0], eventstore.Sessions.Name: session.Events()[0],
		eventstore.Instruments.Name: instrument.Events()[0], eventstore.Accounts.Name: account.Events()[0],
		eventstore.Disputes.Name: dispute.Events()[0], eventstore.Inboxes.Name: inbox.Events()[0], eventstore.Attempts.Name: attempt.Events()[0],
		eventstore.Workflows.Name: workflow.Events()[0], eventstore.WorkflowRuns.Name: workflow.RunEvents()[0],
		eventstore.Persons.Name: person.Events()[0], eventstore.Webhooks.Name: webhook.Events()[0],
		eventstore.Logs.Name: eventstore.LogInitialized{},
	}
	for aggregate, e := range events {
		r := &eventstore.Recorded{Key: eventstore.Key{Aggregate: aggregate}, Type: e.Type(), Schema: 1}
		if _, err := Candidates(r); err != nil {
			t.Errorf("%s: %v", e.Type(), err)
		}
	}
	for name, c := range map[string]struct {
		r    eventstore.Recorded
		want error
	}{
		"type":      {eventstore.Recorded{Key: eventstore.Key{Aggregate: "payment"}, Type: "payment.teleported", Schema: 1}, format.ErrUnknownEvent},
		"aggregate": {eventstore.Recorded{Key: eventstore.Key{Aggregate: "loan"}, Type: "loan.created", Schema: 1}, format.ErrUnknownEvent},
		"schema":    {eventstore.Recorded{Key: eventstore.Key{Aggregate: "payment"}, Type: "payment.created", Schema: eventstore.Payments.Schema + 1}, format.ErrNewerSchema},
	} {
		if _, err := Candidates(&c.r); !errors.Is(err, c.want) {
			t.Errorf("unknown %s: %v", name, err)
		}
	}
}
