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
	Workflow    map[string]any       `json:"workflow,omitempty"`
	WorkflowRun map[string]any       `json:"workflowRun,omitempty"`
}

// Render returns an event of a store's log.
func Render(ctx context.Context, s *eventstore.Store, e ordered.Event) (Event, error) {
	out := Event{
		Position: e.Position, ID: e.EventID, Type: e.Type, Time: paymentjson.Time{Time: e.Time}, AccountID: e.Account,
		Aggregate: e.Aggregate, AggregateID: e.Key.ID, Revision: e.Revision, Actor: actor(e.Actor), Hash: e.Hash.String(),
	}
	if bearers[e.Aggregate] {
		out.AggregateID = Fingerprint(e.Key.ID)
	}
	fact, state, err := format.Generic(e.Recorded)
	if err != nil {
		return out, fmt.Errorf("eventjson: position %d: %w", e.Position, err)
	}
	out.Event = fields(e.Recorded, fact)
	if err := out.setState(ctx, s, e.Recorded, state); err != nil {
		return out, fmt.Errorf("eventjson: position %d: %w", e.Position, err)
	}
	return out, nil
}

// setState sets the state after the event. recorded is the state as the log has it.
func (e *Event) setState(ctx context.Context, s *eventstore.Store, r *eventstore.Recorded, recorded map[string]any) (err error) {
	switch r.Aggregate {
	case eventstore.Payments.Name:
		state, err := eventstore.StateAt(ctx, s, eventstore.Payments, r)
		if err != nil || !state.Exists() { // the claim of an idempotency key
			return err
		}
		rendered := paymentjson.Render(state, domain.Personal{}, paymentjson.Options{Events: true})
		rendered.PaymentMethod.PaymentMethodToken = domain.Token(Fingerprint(string(rendered.PaymentMethod.PaymentMethodToken)))
		e.Payment = &rendered
	case eventstore.Sessions.Name:
		e.Session, err = after(ctx, s, eventstore.Sessions, r, recorded)
	case eventstore.Instruments.Name:
		e.Instrument, err = after(ctx, s, eventstore.Instruments, r, recorded)
	case eventstore.Attempts.Name:
		e.Attempt, err = after(ctx, s, eventstore.Attempts, r, recorded)
	case eventstore.Accounts.Name:
		e.Account, err = after(ctx, s, eventstore.Accounts, r, recorded)
	case eventstore.Disputes.Name:
		e.Dispute, err = after(ctx, s, eventstore.Disputes, r, recorded)
	case eventstore.Inboxes.Name:
		e.Inbox, err = after(ctx, s, eventstore.Inboxes, r, recorded)
	case eventstore.Workflows.Name:
		e.Workflow, err = after(ctx, s, eventstore.Workflows, r, recorded)
	case eventstore.WorkflowRuns.Name:
		e.WorkflowRun, err = after(ctx, s, eventstore.WorkflowRuns, r, recorded)
	}
	return err
}

// after returns the shown fields of the state after an event. A state of an older schema is folded again.
func after[S any, E domain.Event](ctx context.Context, s *eventstore.Store, a *eventstore.Aggregate[S, E], r *eventstore.Recorded, recorded map[string]any) (map[string]any, error) {
	if r.Schema != a.Schema {
		state, err := eventstore.StateAt(ctx, s, a, r)
		if err != nil {
			return nil, err
		}
		text, err := codec.Marshal(state)
		if err != nil {
			return nil, err
		}
		recorded = nil
		if err := codec.UnmarshalGeneric(text, &recorded); err != nil {
			return nil, err
		}
	}
	return fields(r, recorded), nil
}

// fields returns the shown fields of an event or a state of an aggregate.
func fields(r *eventstore.Recorded, decoded map[string]any) map[string]any {
	shown(decoded)
	if _, own := decoded["id"].(string); own && bearers[r.Aggregate] {
		decoded["id"] = Fingerprint(r.Key.ID)
	}
	return decoded
}
