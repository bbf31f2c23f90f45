package notifier

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
	"payledger/domain/session"
	"payledger/domain/workflow"
	"payledger/eventstore"
)

// TestEveryToldEvent: each is in the table, with kinds or explicitly none, and nothing else is (D17).
func TestEveryToldEvent(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	events := []domain.Event{}
	for _, e := range payment.Events() {
		events = append(events, e)
	}
	for _, e := range workflow.RunEvents() {
		events = append(events, e)
	}
	for _, e := range dispute.Events() {
		events = append(events, e)
	}
	for _, e := range events {
		known[e.Type()] = true
	}
	for name := range known {
		if _, there := kindsOf[name]; !there {
			t.Errorf("%s has no row in kindsOf: name its webhooks, or nil", name)
		}
	}
	caused := map[Kind]bool{}
	for name, row := range kindsOf {
		if !known[name] {
			t.Errorf("kindsOf has %s, which is no event", name)
		}
		for _, c := range row {
			caused[c.kind] = true
			if versions[c.kind] == "" || !domain.ValidID(c.kind.token()) {
				t.Errorf("%s has no payload version, or no token", c.kind)
			}
		}
	}
	for kind := range versions {
		if !caused[kind] {
			t.Errorf("no event causes %s", kind)
		}
	}
}

// TestEveryAggregate: each one's events are told about, or known as not told.
func TestEveryAggregate(t *testing.T) {
	t.Parallel()
	events := map[string]domain.Event{
		eventstore.Payments.Name: payment.Events()[0], eventstore.Sessions.Name: session.Events()[0],
		eventstore.Instruments.Name: instrument.Events()[0], eventstore.Accounts.Name: account.Events()[0],
		eventstore.Disputes.Name: dispute.Events()[0], eventstore.Inboxes.Name: inbox.Events()[0], eventstore.Attempts.Name: attempt.Events()[0],
		eventstore.Workflows.Name: workflow.Events()[0], eventstore.WorkflowRuns.Name: workflow.RunEvents()[0],
		eventstore.Logs.Name: eventstore.LogInitialized{},
	}
	for aggregate, e := range events {
		r := &eventstore.Recorded{Key: eventstore.Key{Aggregate: aggregate}, Type: e.Type(), Schema: 1}
		if _, err := candidates(r); err != nil {
			t.Errorf("%s: %v", e.Type(), err)
		}
	}
	for name, c := range map[string]struct {
		r    eventstore.Recorded
		want error
	}{
		"type":      {eventstore.Recorded{Key: eventstore.Key{Aggregate: "payment"}, Type: "payment.teleported", Schema: 1}, eventstore.ErrUnknownEvent},
		"aggregate": {eventstore.Recorded{Key: eventstore.Key{Aggregate: "loan"}, Type: "loan.created", Schema: 1}, eventstore.ErrUnknownEvent},
		"schema":    {eventstore.Recorded{Key: eventstore.Key{Aggregate: "payment"}, Type: "payment.created", Schema: eventstore.Payments.Schema + 1}, eventstore.ErrNewerSchema},
	} {
		if _, err := candidates(&c.r); !errors.Is(err, c.want) {
			t.Errorf("unknown %s: %v", name, err)
		}
	}
}
