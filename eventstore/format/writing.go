package format

import (
	"errors"
	"fmt"

	"payledger/domain"
)

// ErrNotEverywhere means that a live node could not read the event. Nothing was recorded.
var ErrNotEverywhere = errors.New("eventstore: a live node of an older build could not read the event")

// Writing describes the events that a build writes in an older schema, so that live nodes of an
// older build can read them (I2). A build may write in an older schema if the newer schemas only
// added fields and event types: an older build leaves out fields that it does not know, and a newer
// build folds the state again from the events.
type Writing[E domain.Event] struct {
	// Oldest is the oldest schema that the build writes; 0: only the newest one.
	Oldest int
	// Since has the first schema of each event type that came after Oldest.
	Since map[string]int
	// Needs returns the schema of fields in an event that an older build would lose; nil: none.
	// Below Oldest it has no effect.
	Needs func(E) int
}

// writing is a Writing without its type.
type writing struct {
	oldest int
	since  map[string]int
	needs  func(domain.Event) int
}

// WrittenFrom adds rules to an aggregate for the events that it writes in an older schema, and
// returns it.
func WrittenFrom[S any, E domain.Event](a *Aggregate[S, E], w Writing[E]) *Aggregate[S, E] {
	a.Core.writing = writing{oldest: w.Oldest, since: w.Since}
	if w.Needs != nil {
		a.Core.writing.needs = func(e domain.Event) int { return w.Needs(e.(E)) }
	}
	return a
}

// WriteSchema returns the schema in which an event is written. tip is the schema of the aggregate's
// newest event; 0: none. readable is the newest schema that every live node reads. The schema of an
// aggregate never decreases: an older build must not take a state for whole that lost fields.
// ErrNotEverywhere: no schema fits.
func (c *Core) WriteSchema(event domain.Event, tip, readable int) (int, error) {
	schema := max(min(c.Schema, readable), tip)
	needed := c.writing.oldest
	if needed == 0 {
		needed = c.Schema
	}
	needed = max(needed, c.writing.since[event.Type()])
	if c.writing.needs != nil {
		needed = max(needed, c.writing.needs(event))
	}
	if needed > schema {
		return 0, fmt.Errorf("%w: %s needs schema %d of %s, every live node reads schema %d", ErrNotEverywhere, event.Type(), needed, c.Name, readable)
	}
	return schema, nil
}
