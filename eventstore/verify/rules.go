package verify

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/format"
)

// cores has the rules of each kind of aggregate, by its name.
var cores = map[string]*format.Core{}

func init() {
	for _, c := range eventstore.Cores() {
		Register(c)
	}
}

// Register adds the rules of an aggregate.
func Register(c *format.Core) { cores[c.Name] = c }

// apply returns the state after r, given the state before (nil before the first event), and the
// body that r must have; the body is nil for an event of an older schema, whose recorded state has
// another form.
func apply(c *format.Core, before any, r *format.Recorded) (after any, body []byte, err error) {
	defer func() { // a wrong event may break what Evolve relies on
		if cause := recover(); cause != nil {
			err = fmt.Errorf("the event cannot be applied: %v", cause)
		}
	}()
	e, err := c.DecodeEvent(r)
	if err != nil {
		return nil, nil, err
	}
	if before == nil {
		before = c.None()
	}
	state := c.Evolve(before, e)
	if r.Schema == c.Schema {
		body, err = c.Encode(r.Origin(), e, state)
	}
	return c.Earlier(state, c.None()), body, err // no later fold needs the parts that leave the state
}

// difference returns the first difference between the recorded body and the one that the fold
// gives.
func difference(r *format.Recorded, body []byte) string {
	want := r.Fresh()
	want.Body = body
	event, state, err := format.Generic(r)
	if err != nil {
		return "its body cannot be read: " + err.Error()
	}
	wantEvent, wantState, err := format.Generic(want)
	switch {
	case err != nil:
		return "the fold cannot be read: " + err.Error()
	case !reflect.DeepEqual(event, wantEvent):
		return "the recorded event is not written as this log writes it: " + firstDifference("event", event, wantEvent)
	case !reflect.DeepEqual(state, wantState):
		return "the recorded state is not the fold of the events: " + firstDifference("state", state, wantState)
	}
	_, left, err := r.Parts()
	_, wantLeft, wantErr := want.Parts()
	if errors.Join(err, wantErr) == nil && !bytes.Equal(left, wantLeft) {
		return "the parts moved out of the state are not those of the fold"
	}
	return "the recorded bytes are not those of the fold"
}

// firstDifference returns the path of the first difference, with both values.
func firstDifference(path string, have, want any) string {
	here, isMap := have.(map[string]any)
	there, wantsMap := want.(map[string]any)
	if isMap && wantsMap {
		names := slices.AppendSeq(slices.Collect(maps.Keys(here)), maps.Keys(there))
		slices.Sort(names)
		for _, name := range names {
			if !reflect.DeepEqual(here[name], there[name]) {
				return firstDifference(path+"."+name, here[name], there[name])
			}
		}
	}
	return fmt.Sprintf("%s is %s, the fold gives %s", path, short(have), short(want))
}

func short(v any) string {
	if v == nil {
		return "absent"
	}
	text := fmt.Sprint(v)
	if len(text) > 80 {
		text = domain.Beginning(text, 80) + "…"
	}
	return text
}
