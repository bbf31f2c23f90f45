package format

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/vmihailenco/msgpack/v5"

	"payledger/domain"
	"payledger/eventstore/codec"
)

// ErrNewerSchema means that a newer build wrote the event. This build must not append to the aggregate: its state would lose fields.
var ErrNewerSchema = errors.New("eventstore: event written by a newer schema")

// ErrUnknownEvent means that the log holds an event type that this build does not know.
var ErrUnknownEvent = errors.New("eventstore: unknown event type")

// Upgrade returns the decoded body of an event in the next schema. It must be pure. The golden bytes keep the older form.
type Upgrade func(event map[string]any) map[string]any

// Aggregate ties an aggregate's rules to its bytes in the log.
type Aggregate[S any, E domain.Event] struct {
	Name     string
	Schema   int
	Evolve   func(S, E) S
	Upgrades map[string]map[int]Upgrade // by event type, then by the schema upgraded from
	events   map[string]reflect.Type
	Leaving  *Leaving[S] // nil: states keep everything
	Writing  Writing[E]  // while builds that read an older schema only are live
}

// NewAggregate registers the event types of an aggregate under their names.
func NewAggregate[S any, E domain.Event](name string, schema int, events []E, evolve func(S, E) S) *Aggregate[S, E] {
	a := &Aggregate[S, E]{
		Name: name, Schema: schema, Evolve: evolve,
		Upgrades: map[string]map[int]Upgrade{}, events: map[string]reflect.Type{},
	}
	for _, e := range events {
		if _, twice := a.events[e.Type()]; twice {
			panic("eventstore: two events are called " + e.Type())
		}
		a.events[e.Type()] = reflect.TypeOf(e)
	}
	return a
}

// Types returns the names of the event types, sorted.
func (a *Aggregate[S, E]) Types() []string { return slices.Sorted(maps.Keys(a.events)) }

// Knows reports whether an event type is one of these.
func (a *Aggregate[S, E]) Knows(eventType string) bool { return a.events[eventType] != nil }

// Key names one of these aggregates.
func (a *Aggregate[S, E]) Key(account domain.AccountID, id string) Key {
	return Key{Account: account, Aggregate: a.Name, ID: id}
}

// body is the message body of I2; raw parts let a reader decode only what it needs.
type body struct {
	Event msgpack.RawMessage `msgpack:"event"`
	State msgpack.RawMessage `msgpack:"state"`
}

// EncodeFrom writes {"event", "state"}, "left" if parts moved out of the state, and "origin", the address from which a change came; "" leaves
// it out. The same values always give the same bytes.
func (a *Aggregate[S, E]) EncodeFrom(origin string, event E, state S) ([]byte, error) {
	var r Recorded
	err := a.CompleteFrom(origin, &r, Hash{}, event, state)
	return r.Body, err
}

// CompleteFrom sets the body and the hash of r, an event that leads to state. origin is that of EncodeFrom.
func (a *Aggregate[S, E]) CompleteFrom(origin string, r *Recorded, previous Hash, event E, state S) (err error) {
	if _, known := a.events[event.Type()]; !known {
		return fmt.Errorf("%w: %s", ErrUnknownEvent, event.Type())
	}
	var left any
	if a.Leaving != nil {
		if parts, some := a.Leaving.Newest(state); some {
			left = parts
		}
	}
	r.event, r.state = event, state
	if r.Body, err = marshalBody(r.event, r.state, left, origin); err != nil {
		return err
	}
	r.Hash = r.Link(previous)
	return nil
}

// Event decodes the fact of r, upgraded to the newest schema.
func (a *Aggregate[S, E]) Event(r *Recorded) (E, error) {
	var none E
	if r.Schema > a.Schema {
		return none, fmt.Errorf("%w: %s has schema %d, known is %d", ErrNewerSchema, r.Key, r.Schema, a.Schema)
	}
	if made, ok := r.event.(E); ok && r.Schema == a.Schema {
		return made, nil
	}
	t, known := a.events[r.Type]
	if !known {
		return none, fmt.Errorf("%w: %s", ErrUnknownEvent, r.Type)
	}
	raw, _, err := Bodies(r)
	if err != nil {
		return none, err
	}
	bytes, err := a.upgraded(r, raw)
	if err != nil {
		return none, err
	}
	value := reflect.New(t)
	if err := codec.Unmarshal(bytes, value.Interface()); err != nil {
		return none, fmt.Errorf("eventstore: event %s of %s revision %d: %w", r.Type, r.Key, r.Revision, err)
	}
	return value.Elem().Interface().(E), nil
}

// upgraded brings an older event's bytes to the newest schema, one step at a time.
func (a *Aggregate[S, E]) upgraded(r *Recorded, event []byte) ([]byte, error) {
	steps := a.Upgrades[r.Type]
	for schema := r.Schema; schema < a.Schema; schema++ {
		upgrade, changed := steps[schema]
		if !changed {
			continue // this event type is the same in the next schema
		}
		var fields map[string]any
		if err := codec.Unmarshal(event, &fields); err != nil {
			return nil, fmt.Errorf("eventstore: upgrade of %s from schema %d: %w", r.Type, schema, err)
		}
		codec.Signed(fields)
		next, err := codec.Marshal(upgrade(fields))
		if err != nil {
			return nil, fmt.Errorf("eventstore: upgrade of %s from schema %d: %w", r.Type, schema, err)
		}
		event = next
	}
	return event, nil
}

// State decodes the state after r, perhaps without the parts moved out of it. It returns an error for an older schema, whose states
// are folded again from the events (Fold). StateAt handles both.
func (a *Aggregate[S, E]) State(r *Recorded) (S, error) {
	if made, ok := r.state.(S); ok && r.Schema == a.Schema {
		return made, nil
	}
	var state S
	if r.Schema != a.Schema {
		return state, fmt.Errorf("eventstore: state of %s has schema %d, not %d", r.Key, r.Schema, a.Schema)
	}
	_, raw, err := Bodies(r)
	if err != nil {
		return state, err
	}
	if err := codec.Unmarshal(raw, &state); err != nil {
		return state, fmt.Errorf("eventstore: state of %s revision %d: %w", r.Key, r.Revision, err)
	}
	return state, nil
}

// Fold returns the state after events, which begin with the first one.
func (a *Aggregate[S, E]) Fold(events []*Recorded) (S, error) {
	var state S
	for _, r := range events {
		e, err := a.Event(r)
		if err != nil {
			return state, err
		}
		state = a.Evolve(state, e)
	}
	return state, nil
}

// Generic returns event and state of any event as plain maps, for readers without the Go types. JSON writes their []byte as base64.
func Generic(r *Recorded) (event, state map[string]any, err error) {
	var raw body
	err = codec.Unmarshal(r.Body, &raw)
	if err == nil {
		err = errors.Join(codec.UnmarshalGeneric(raw.Event, &event), codec.UnmarshalGeneric(raw.State, &state))
	}
	if err != nil {
		return nil, nil, fmt.Errorf("eventstore: body of %s revision %d: %w", r.Key, r.Revision, err)
	}
	return event, state, nil
}

// Leaving describes an aggregate whose events move parts out of its state, so that states stay small. An event carries the
// parts that it moved out, once, beside the state. The tip store keeps them as rows. A loaded state has all of them.
type Leaving[S any] struct {
	Newest  func(S) (left any, some bool) // the part that the state's newest event moved out
	Whole   func(S) bool                  // the state has all parts moved out of it
	Join    func(S, []LeftRow) (S, error) // the state with the parts moved out of it; rows oldest first
	Earlier func(s, newer S) S            // the state with the parts moved out of it, taken from a newer state
}

// LeftRow is the part that one event moved out of an aggregate's state.
type LeftRow struct {
	Revision uint64
	Data     []byte // as Unmarshal reads it
}

// Letting returns the aggregate with rules for the parts moved out of its state.
func (a *Aggregate[S, E]) Letting(l Leaving[S]) *Aggregate[S, E] {
	a.Leaving = &l
	return a
}

// Whole reports whether state has all parts moved out of it.
func (a *Aggregate[S, E]) Whole(state S) bool { return a.Leaving == nil || a.Leaving.Whole(state) }
