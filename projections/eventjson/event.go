package eventjson

import (
	"context"
	"fmt"

	"payledger/domain"
	"payledger/domain/dispute"
	"payledger/eventstore"
	"payledger/eventstore/codec"
	"payledger/eventstore/format"
	"payledger/eventstore/ordered"
	"payledger/projections/paymentjson"
)

// Event is one event of the log.
type Event struct {
	Position    uint64 // from 1, without a gap over all accounts
	ID          string // uuid
	Type        string
	Time        paymentjson.Time
	AccountID   domain.AccountID
	Aggregate   string
	AggregateID string // for a session or an instrument: the id's fingerprint
	Revision    uint64 // of the aggregate, from 1, without a gap
	Actor       string
	Hash        string               // Ledger-Hash
	Payment     *paymentjson.Payment // after the event; nil for other aggregates
	Held        domain.Amount        // of Payment: authorized, and neither captured nor released

	fact, state []byte // as stored, in the newest schema; state is empty if the JSON has none
	ownID       string // value of the field id in fact and state, if it is a credential
}

// Render returns an event of a store's log.
func Render(ctx context.Context, s eventstore.Untyped, e ordered.Event) (Event, error) {
	return render(ctx, s, e, paymentjson.Options{Events: true})
}

// RenderBrief is Render without the events of a payment's transactions.
func RenderBrief(ctx context.Context, s eventstore.Untyped, e ordered.Event) (Event, error) {
	return render(ctx, s, e, paymentjson.Options{})
}

func render(ctx context.Context, s eventstore.Untyped, e ordered.Event, o paymentjson.Options) (Event, error) {
	out := Event{
		Position: e.Position, ID: e.EventID, Type: e.Type, Time: paymentjson.Time{Time: e.Time}, AccountID: e.Account,
		Aggregate: e.Aggregate, AggregateID: e.Key.ID, Revision: e.Revision, Actor: Actor(e.Actor), Hash: e.Hash.String(),
	}
	if bearers[e.Aggregate] {
		out.AggregateID = Fingerprint(e.Key.ID)
		out.ownID = out.AggregateID
	}
	if err := out.setBodies(ctx, s, e.Recorded, o); err != nil {
		return out, fmt.Errorf("eventjson: position %d: %w", e.Position, err)
	}
	return out, nil
}

func (e *Event) setBodies(ctx context.Context, s eventstore.Untyped, r *eventstore.Recorded, o paymentjson.Options) (err error) {
	k, known := kinds[r.Aggregate]
	if !known {
		return fmt.Errorf("unknown aggregate %q", r.Aggregate)
	}
	e.fact, e.state, err = k.bodies(ctx, s, r)
	if err == nil && r.Aggregate == eventstore.Payments.Name {
		err = e.setPayment(ctx, s, r, o)
	}
	if err == nil && r.Type == (dispute.Rejected{}).Type() { // it may be the first event of a dispute
		var after dispute.State
		if after, err = eventstore.StateAt(ctx, s, eventstore.Disputes, r); err == nil && !after.Exists() {
			e.state = nil
		}
	}
	return err
}

// setPayment sets the Payment JSON. The claim of an idempotency key has no payment.
func (e *Event) setPayment(ctx context.Context, s eventstore.Untyped, r *eventstore.Recorded, o paymentjson.Options) error {
	state, err := eventstore.StateAt(ctx, s, eventstore.Payments, r)
	if err != nil || !state.Exists() {
		return err
	}
	rendered := paymentjson.Render(state, domain.Personal{}, o)
	rendered.PaymentMethod.PaymentMethodToken = domain.Token(Fingerprint(string(rendered.PaymentMethod.PaymentMethodToken)))
	e.Payment, e.Held = &rendered, state.Held()
	return nil
}

// bodies returns an event and, if withState, the state after the event, as stored. It upgrades an
// event of an older schema, and folds the state again, so that all events have the fields of the
// newest schema.
func bodies[S any, E domain.Event](ctx context.Context, s eventstore.Untyped, a *eventstore.Aggregate[S, E], r *eventstore.Recorded, withState bool) (stored, state []byte, err error) {
	if r.Schema == a.Schema {
		stored, state, err = format.Bodies(r)
		if !withState {
			state = nil
		}
		return stored, state, err
	}
	if stored, err = upgraded(a, r); err != nil || !withState {
		return stored, nil, err
	}
	folded, err := eventstore.StateAt(ctx, s, a, r)
	if err == nil {
		state, err = codec.Marshal(folded)
	}
	return stored, state, err
}

func upgraded[S any, E domain.Event](a *eventstore.Aggregate[S, E], r *eventstore.Recorded) ([]byte, error) {
	event, err := a.Event(r)
	if err != nil {
		return nil, err
	}
	return codec.Marshal(event)
}
