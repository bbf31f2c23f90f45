package format

import (
	"reflect"

	"payledger/domain"
	"payledger/eventstore/codec"
)

// Aggregate is a Core whose states are S and whose events are E. It has few methods and embeds
// nothing: each importer compiles them for every aggregate of the ledger.
type Aggregate[S any, E domain.Event] struct {
	Name   string
	Schema int
	Core   *Core
}

// NewAggregate registers the event types of an aggregate under their names.
func NewAggregate[S any, E domain.Event](name string, schema int, events []E, evolve func(S, E) S) *Aggregate[S, E] {
	var none S
	c := &Core{
		Name: name, Schema: schema, Upgrades: map[string]map[int]Upgrade{}, events: map[string]reflect.Type{}, none: none,
		evolve: func(state any, event domain.Event) any { return evolve(state.(S), event.(E)) },
		decode: func(b []byte) (any, error) {
			var state S
			err := codec.Unmarshal(b, &state)
			return state, err
		},
	}
	for _, e := range events {
		if _, twice := c.events[e.Type()]; twice {
			panic("eventstore: two events are called " + e.Type())
		}
		c.events[e.Type()] = reflect.TypeOf(e)
	}
	return &Aggregate[S, E]{name, schema, c}
}

// Event decodes the fact of r, upgraded to the newest schema.
func (a *Aggregate[S, E]) Event(r *Recorded) (E, error) {
	e, err := a.Core.DecodeEvent(r)
	event, _ := e.(E)
	return event, err
}

// State decodes the state after r, perhaps without the parts moved out of it. It returns an error
// for an older schema, whose states are folded again from the events (Fold). StateAt handles both.
func (a *Aggregate[S, E]) State(r *Recorded) (S, error) {
	state, err := a.Core.DecodeState(r)
	s, _ := state.(S)
	return s, err
}

// Fold returns the state after events, which begin with the first one.
func (a *Aggregate[S, E]) Fold(events []*Recorded) (S, error) {
	state, err := a.Core.FoldAll(events)
	s, _ := state.(S)
	return s, err
}

// Key names one of these aggregates.
func (a *Aggregate[S, E]) Key(account domain.AccountID, id string) Key {
	return Key{Account: account, Aggregate: a.Name, ID: id}
}
