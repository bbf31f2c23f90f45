package eventjson

import (
	"context"
	"fmt"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/codec"
	"payledger/eventstore/format"
	"payledger/eventstore/ordered"
	"payledger/projections/paymentjson"
)

// Event is one event of the log. The state of its aggregate after it stands in the field that has the aggregate's name.
type Event struct {
	Position    uint64           `json:"position"` // from 1, without a gap over all accounts
	ID          string           `json:"id"`       // uuid
	Type        string           `json:"type"`
	Time        paymentjson.Time `json:"time"`
	AccountID   domain.AccountID `json:"accountId"`
	Aggregate   string           `json:"aggregate"`
	AggregateID string           `json:"aggregateId"` // of a session or an instrument its fingerprint
	Revision    uint64           `json:"revision"`    // of the aggregate, from 1, without a gap
	Actor       string           `json:"actor"`
	Hash        string           `json:"hash"`  // Ledger-Hash
	Event       map[string]any   `json:"event"` // the fact

	Payment     *paymentjson.Payment `json:"payment,omitempty"`
	Session     map[string]any       `json:"session,omitempty"`
	Instrument  map[string]any       `json:"instrument,omitempty"`
	Attempt     map[string]any       `json:"attempt,omitempty"`
	Account     map[string]any       `json:"account,omitempty"`
	Dispute     map[string]any       `json:"dispute,omitempty"`
	Inbox       map[string]any       `json:"inbox,omitempty"`
	Person      map[string]any       `json:"person,omitempty"`
	Workflow    map[string]any       `json:"workflow,omitempty"`
	WorkflowRun map[string]any       `json:"workflowRun,omitempty"`
}

// Render returns an event of a store's log.
func Render(ctx context.Context, s *eventstore.Store, e ordered.Event) (Event, error) {
	out := Event{
		Position: e.Position, ID: e.EventID, Type: e.Type, Time: paymentjson.Time{Time: e.Time}, AccountID: e.Account,
		Aggregate: e.Aggregate, AggregateID: e.Key.ID, Revision: e.Revision, Actor: Actor(e.Actor), Hash: e.Hash.String(),
	}
	if bearers[e.Aggregate] {
		out.AggregateID = Fingerprint(e.Key.ID)
	}
	if err := out.setBodies(ctx, s, e.Recorded); err != nil {
		return out, fmt.Errorf("eventjson: position %d: %w", e.Position, err)
	}
	return out, nil
}

func (e *Event) setBodies(ctx context.Context, s *eventstore.Store, r *eventstore.Recorded) (err error) {
	switch r.Aggregate {
	case eventstore.Payments.Name:
		if e.Event, _, err = bodies(ctx, s, eventstore.Payments, r); err == nil {
			err = e.setPayment(ctx, s, r)
		}
	case eventstore.Sessions.Name:
		e.Event, e.Session, err = bodies(ctx, s, eventstore.Sessions, r)
	case eventstore.Instruments.Name:
		e.Event, e.Instrument, err = bodies(ctx, s, eventstore.Instruments, r)
	case eventstore.Attempts.Name:
		e.Event, e.Attempt, err = bodies(ctx, s, eventstore.Attempts, r)
	case eventstore.Accounts.Name:
		e.Event, e.Account, err = bodies(ctx, s, eventstore.Accounts, r)
	case eventstore.Disputes.Name:
		e.Event, e.Dispute, err = bodies(ctx, s, eventstore.Disputes, r)
	case eventstore.Inboxes.Name:
		e.Event, e.Inbox, err = bodies(ctx, s, eventstore.Inboxes, r)
	case eventstore.Persons.Name:
		e.Event, e.Person, err = bodies(ctx, s, eventstore.Persons, r)
	case eventstore.Workflows.Name:
		e.Event, e.Workflow, err = bodies(ctx, s, eventstore.Workflows, r)
	case eventstore.WorkflowRuns.Name:
		e.Event, e.WorkflowRun, err = bodies(ctx, s, eventstore.WorkflowRuns, r)
	case eventstore.Logs.Name:
		e.Event, _, err = bodies(ctx, s, eventstore.Logs, r)
	default:
		err = fmt.Errorf("unknown aggregate %q", r.Aggregate)
	}
	return err
}

// setPayment sets the Payment JSON. The claim of an idempotency key has no payment.
func (e *Event) setPayment(ctx context.Context, s *eventstore.Store, r *eventstore.Recorded) error {
	state, err := eventstore.StateAt(ctx, s, eventstore.Payments, r)
	if err != nil || !state.Exists() {
		return err
	}
	rendered := paymentjson.Render(state, domain.Personal{}, paymentjson.Options{Events: true})
	rendered.PaymentMethod.PaymentMethodToken = domain.Token(Fingerprint(string(rendered.PaymentMethod.PaymentMethodToken)))
	e.Payment = &rendered
	return nil
}

// bodies returns the shown fields of an event and of the state after it. An event of an older schema is upgraded, and its state
// is folded again, so that all events have the fields of the newest schema.
func bodies[S any, E domain.Event](ctx context.Context, s *eventstore.Store, a *eventstore.Aggregate[S, E], r *eventstore.Recorded) (fact, state map[string]any, err error) {
	if fact, state, err = format.Generic(r); err == nil && r.Schema != a.Schema {
		var folded S
		if folded, err = eventstore.StateAt(ctx, s, a, r); err == nil {
			fact, err = upgraded(a, r)
		}
		if err == nil {
			state, err = generic(folded)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	return fields(r, fact), fields(r, state), nil
}

// upgraded returns the fields that an event of an older schema has in the newest one.
func upgraded[S any, E domain.Event](a *eventstore.Aggregate[S, E], r *eventstore.Recorded) (map[string]any, error) {
	event, err := a.Event(r)
	if err != nil {
		return nil, err
	}
	return generic(event)
}

// generic returns the fields of a Go value as the log has them.
func generic(v any) (decoded map[string]any, err error) {
	text, err := codec.Marshal(v)
	if err != nil {
		return nil, err
	}
	return decoded, codec.UnmarshalGeneric(text, &decoded)
}

// fields returns the shown fields of an event or a state of an aggregate.
func fields(r *eventstore.Recorded, decoded map[string]any) map[string]any {
	shown(decoded)
	if _, own := decoded["id"].(string); own && bearers[r.Aggregate] {
		decoded["id"] = Fingerprint(r.Key.ID)
	}
	return decoded
}
