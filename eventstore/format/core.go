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

// ErrNewerSchema means that a newer build wrote the event. This build must not append to the
// aggregate: its state would lose fields.
var ErrNewerSchema = errors.New("eventstore: event written by a newer schema")

// ErrUnknownEvent means that the log holds an event type that this build does not know.
var ErrUnknownEvent = errors.New("eventstore: unknown event type")

// Upgrade returns the decoded body of an event in the next schema. It must be pure. The golden
// bytes keep the older form.
type Upgrade func(event map[string]any) map[string]any

// Core ties the rules of one kind of aggregate to its bytes in the log, without type parameters:
// events and states are values of the aggregate's own types. Aggregate is its typed form. Importers
// compile only the typed form again, so it does nothing else.
type Core struct {
	Name     string
	Schema   int
	Upgrades map[string]map[int]Upgrade // by event type, then by the schema upgraded from

	events  map[string]reflect.Type
	none    any // the zero state
	evolve  func(state any, event domain.Event) any
	decode  func(state []byte) (any, error)
	leaving *leaving // nil: states keep everything
	writing writing  // while builds that read an older schema only are live
}

// Types returns the names of the event types, sorted.
func (c *Core) Types() []string { return slices.Sorted(maps.Keys(c.events)) }

// Knows reports whether an event type is one of these.
func (c *Core) Knows(eventType string) bool { return c.events[eventType] != nil }

// None returns the state before the first event.
func (c *Core) None() any { return c.none }

// Evolve returns the state after an event.
func (c *Core) Evolve(state any, event domain.Event) any { return c.evolve(state, event) }

// body is the message body of I2; raw parts let a reader decode only what it needs.
type body struct {
	Event msgpack.RawMessage `msgpack:"event"`
	State msgpack.RawMessage `msgpack:"state"`
}

// Encode writes {"event", "state"}, "left" if parts moved out of the state, and "origin", the
// address from which a change came; "" leaves it out. The same values always give the same bytes.
func (c *Core) Encode(origin string, event domain.Event, state any) ([]byte, error) {
	var r Recorded
	err := c.Complete(origin, &r, Hash{}, event, state)
	return r.Body, err
}

// Complete sets the body and the hash of r, an event that leads to state. origin is that of Encode.
func (c *Core) Complete(origin string, r *Recorded, previous Hash, event domain.Event, state any) (err error) {
	if _, known := c.events[event.Type()]; !known {
		return fmt.Errorf("%w: %s", ErrUnknownEvent, event.Type())
	}
	var left any
	if c.leaving != nil {
		if parts, some := c.leaving.newest(state); some {
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

// DecodeEvent decodes the fact of r, upgraded to the newest schema.
func (c *Core) DecodeEvent(r *Recorded) (domain.Event, error) {
	if r.Schema > c.Schema {
		return nil, fmt.Errorf("%w: %s has schema %d, known is %d", ErrNewerSchema, r.Key, r.Schema, c.Schema)
	}
	t, known := c.events[r.Type]
	if !known {
		return nil, fmt.Errorf("%w: %s", ErrUnknownEvent, r.Type)
	}
	if r.event != nil && reflect.TypeOf(r.event) == t && r.Schema == c.Schema {
		return r.event, nil
	}
	raw, _, err := Bodies(r)
	if err != nil {
		return nil, err
	}
	bytes, err := c.upgraded(r, raw)
	if err != nil {
		return nil, err
	}
	value := reflect.New(t)
	if err := codec.Unmarshal(bytes, value.Interface()); err != nil {
		return nil, fmt.Errorf("eventstore: event %s of %s revision %d: %w", r.Type, r.Key, r.Revision, err)
	}
	return value.Elem().Interface().(domain.Event), nil
}

// upgraded brings an older event's bytes to the newest schema, one step at a time.
func (c *Core) upgraded(r *Recorded, event []byte) ([]byte, error) {
	steps := c.Upgrades[r.Type]
	for schema := r.Schema; schema < c.Schema; schema++ {
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

// DecodeState returns the state after r, perhaps without the parts moved out of it. It is decoded
// once for all readers of the event, who never change it. DecodeState returns an error for an older
// schema, whose states are folded again from the events (FoldAll).
func (c *Core) DecodeState(r *Recorded) (any, error) {
	if r.Schema == c.Schema && c.Made(r.state) {
		return r.state, nil
	}
	if r.Schema == c.Schema && r.read != nil {
		if state := r.read.Load(); state != nil && c.Made(*state) {
			return *state, nil
		}
	}
	if r.Schema != c.Schema {
		return c.none, fmt.Errorf("eventstore: state of %s has schema %d, not %d", r.Key, r.Schema, c.Schema)
	}
	_, raw, err := Bodies(r)
	if err != nil {
		return c.none, err
	}
	state, err := c.decode(raw)
	if err != nil {
		return c.none, fmt.Errorf("eventstore: state of %s revision %d: %w", r.Key, r.Revision, err)
	}
	if r.read != nil {
		r.read.Store(&state)
	}
	return state, nil
}

// Made reports whether a value is a state of this kind of aggregate.
func (c *Core) Made(state any) bool {
	return state != nil && reflect.TypeOf(state) == reflect.TypeOf(c.none)
}

// Decode decodes a state of the newest schema.
func (c *Core) Decode(state []byte) (any, error) { return c.decode(state) }

// FoldAll returns the state after events, which begin with the first one.
func (c *Core) FoldAll(events []*Recorded) (any, error) {
	state := c.none
	for _, r := range events {
		e, err := c.DecodeEvent(r)
		if err != nil {
			return state, err
		}
		state = c.evolve(state, e)
	}
	return state, nil
}

// Generic returns event and state of any event as plain maps, for readers without the Go types.
// JSON writes their []byte as base64.
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
