package eventjson

import (
	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/codec"
)

// PassedEvery is passedEvery.
const PassedEvery = passedEvery

// For tests.
var (
	Credentials = credentials
	Bearers     = bearers
)

// Hides reports whether a field with a value is left out.
func Hides(name string, value any) bool {
	stored, err := codec.Marshal(value)
	if err != nil {
		panic(err)
	}
	t, _, err := codec.Next(stored)
	if err != nil {
		panic(err)
	}
	return hides(name, t, stored)
}

// Fact returns the JSON of an event, as the newest schema has it.
func Fact[S any, E domain.Event](a *eventstore.Aggregate[S, E], r *eventstore.Recorded) ([]byte, error) {
	stored, err := upgraded(a, r)
	if err != nil {
		return nil, err
	}
	e := Event{fact: stored}
	if bearers[r.Aggregate] {
		e.ownID = Fingerprint(r.Key.ID)
	}
	return e.AppendFact(nil, true)
}

// Stored returns the JSON of a stored map.
func Stored(stored []byte) ([]byte, error) { return Event{fact: stored}.AppendFact(nil, false) }
