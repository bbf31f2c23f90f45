package eventjson

import (
	"payledger/domain"
	"payledger/eventstore"
)

// For tests.
var (
	Hides       = hides
	Credentials = credentials
	Bearers     = bearers
)

// Fact returns the shown fields of an event, as the newest schema has them.
func Fact[S any, E domain.Event](a *eventstore.Aggregate[S, E], r *eventstore.Recorded) (map[string]any, error) {
	fact, err := upgraded(a, r)
	return fields(r, fact), err
}
