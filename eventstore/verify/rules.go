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
	"payledger/eventstore/codec"
	"payledger/eventstore/format"
)

// rules are the rules of one kind of aggregate, without its types.
type rules interface {
	// apply returns the state after r, given the state before (nil before the first event), and the body that r must have; the
	// body is nil for an event of an older schema, whose recorded state has another form.
	apply(before any, r *format.Recorded) (after any, body []byte, err error)
	recorded(r *format.Recorded) (state any, err error)
	decode(state []byte) (any, error)
}

// known are the rules by the name of the aggregate.
var known = map[string]rules{}

func init() {
	Register(eventstore.Payments)
	Register(eventstore.Sessions)
	Register(eventstore.Instruments)
	Register(eventstore.Attempts)
	Register(eventstore.Accounts)
	Register(eventstore.Disputes)
	Register(eventstore.Inboxes)
	Register(eventstore.Persons)
	Register(eventstore.Workflows)
	Register(eventstore.WorkflowRuns)
	Register(eventstore.Webhooks)
	Register(eventstore.Logs)
}

// Register adds the rules of an aggregate.
func Register[S any, E domain.Event](a *format.Aggregate[S, E]) { known[a.Name] = typed[S, E]{a} }

type typed[S any, E domain.Event] struct{ a *format.Aggregate[S, E] }

func (t typed[S, E]) apply(before any, r *format.Recorded) (after any, body []byte, err error) {
	defer func() { // a wrong event may break what Evolve relies on
		if cause := recover(); cause != nil {
			err = fmt.Errorf("the event cannot be applied: %v", cause)
		}
	}()
	e, err := t.a.Event(r)
	if err != nil {
		return nil, nil, err
	}
	var state S
	if before != nil {
		state = before.(S)
	}
	state = t.a.Evolve(state, e)
	if r.Schema == t.a.Schema {
		body, err = t.a.EncodeFrom(r.Origin(), e, state)
	}
	if t.a.Leaving != nil { // no later fold needs the parts that leave the state
		var none S
		state = t.a.Leaving.Earlier(state, none)
	}
	return state, body, err
}

func (t typed[S, E]) recorded(r *format.Recorded) (any, error) {
	state, err := t.a.State(r)
	return state, err
}

func (t typed[S, E]) decode(b []byte) (any, error) {
	var state S
	err := codec.Unmarshal(b, &state)
	return state, err
}

// difference returns the first difference between the recorded body and the one that the fold gives.
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
		text = text[:80] + "…"
	}
	return text
}
