package causes

import (
	"context"
	"fmt"

	"payledger/domain/payment"
	"payledger/domain/webhook"
	"payledger/eventstore"
	"payledger/eventstore/format"
)

// Read returns the event at an address of a shard, as eventstore.Store.Read does.
type Read = func(ctx context.Context, shard int, seq uint64) (*eventstore.Recorded, error)

// schemas maps each aggregate whose events may cause webhooks to the newest schema that this build
// can render.
var schemas = map[string]int{
	eventstore.Payments.Name:     eventstore.Payments.Schema,
	eventstore.Disputes.Name:     eventstore.Disputes.Schema,
	eventstore.WorkflowRuns.Name: eventstore.WorkflowRuns.Schema,
}

// withoutWebhooks has the aggregates whose events cause no webhooks.
var withoutWebhooks = map[string]bool{
	eventstore.Sessions.Name: true, eventstore.Instruments.Name: true, eventstore.Attempts.Name: true, eventstore.Accounts.Name: true,
	eventstore.Inboxes.Name: true, eventstore.Logs.Name: true, eventstore.Workflows.Name: true,
	eventstore.Persons.Name: true, eventstore.Webhooks.Name: true,
}

// Candidates returns the webhooks that an event may cause. It reads the event's headers only.
func Candidates(r *eventstore.Recorded) ([]webhook.Candidate, error) {
	if withoutWebhooks[r.Aggregate] {
		return nil, nil
	}
	schema, known := schemas[r.Aggregate]
	if !known {
		return nil, fmt.Errorf("causes: %w: aggregate %q", format.ErrUnknownEvent, r.Aggregate)
	}
	if r.Schema > schema {
		return nil, fmt.Errorf("causes: %w: schema %d, known is %d", format.ErrNewerSchema, r.Schema, schema)
	}
	row, known := webhook.Candidates(r.Type)
	if !known {
		return nil, fmt.Errorf("causes: %w: %q", format.ErrUnknownEvent, r.Type)
	}
	return row, nil
}

// Holds reports whether a condition of the event holds. It reads the previous event of the payment
// with read.
func Holds(ctx context.Context, store eventstore.Untyped, r *eventstore.Recorded, when webhook.Condition, read Read) (bool, error) {
	if when == webhook.Always {
		return true, nil
	}
	after, err := stateAfter(ctx, store, r, when)
	if err != nil {
		return false, err
	}
	before := payment.StatusPending
	if when == webhook.StatusChanges {
		if before, err = statusBefore(ctx, store, r, read); err != nil {
			return false, err
		}
	}
	return when.Holds(before, after), nil
}

// statusBefore returns the payment's status before an event. The payment's second event is the most
// frequent one and needs no read: a payment that was just created is PENDING.
func statusBefore(ctx context.Context, store eventstore.Untyped, r *eventstore.Recorded, read Read) (payment.Status, error) {
	if r.Revision <= 2 {
		return payment.StatusPending, nil
	}
	previous, err := read(ctx, r.Shard, r.PrevSeq)
	if err != nil {
		return "", fmt.Errorf("causes: the event before, at sequence %d: %w", r.PrevSeq, err)
	}
	if previous.Key != r.Key || previous.Revision != r.Revision-1 {
		return "", fmt.Errorf("causes: %w: %s revision %d follows %s revision %d", eventstore.ErrUnhealthy,
			r.Key, r.Revision, previous.Key, previous.Revision)
	}
	state, err := stateAfter(ctx, store, previous, webhook.StatusChanges)
	return state.Status(), err
}

// stateAfter returns the payment after an event, as far as a condition needs it. Most conditions
// need no past, which costs a read of the tip store at each node that did not write the event.
func stateAfter(ctx context.Context, store eventstore.Untyped, r *eventstore.Recorded, when webhook.Condition) (payment.State, error) {
	if r.Schema == eventstore.Payments.Schema && !when.NeedsPast() {
		return eventstore.Payments.State(r)
	}
	return eventstore.StateAt(ctx, store, eventstore.Payments, r)
}
