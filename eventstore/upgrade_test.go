package eventstore_test

import (
	"errors"
	"math"
	"testing"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/format"
)

// The newer build added a field to the event and the state, a field that an older build would lose in its own events, and an event type.
type (
	labelled struct {
		Sum   int64  `json:"sum"`
		Count int64  `json:"count"`
		Label string `json:"label,omitempty"` // the newest one
		Limit int64  `json:"limit,omitempty"`
	}
	labelledAdded struct {
		N     int64  `json:"n"`
		Label string `json:"label,omitempty"`
		Limit int64  `json:"limit,omitempty"`
	}
	emptied struct {
		Why string `json:"why"`
	}
)

func (labelledAdded) Type() string { return "tally.added" }
func (emptied) Type() string       { return "tally.emptied" }

func labelledUp(s labelled, e domain.Event) labelled {
	s.Count++
	switch e := e.(type) {
	case labelledAdded:
		s.Sum += e.N
		if e.Label != "" {
			s.Label = e.Label
		}
		s.Limit = e.Limit
	case emptied:
		s.Sum = 0
	}
	return s
}

// newerBuild has schema 2 of the tallies.
func newerBuild() *eventstore.Aggregate[labelled, domain.Event] {
	a := format.NewAggregate("tally", 2, []domain.Event{labelledAdded{}, emptied{}}, labelledUp)
	return format.WrittenFrom(a, format.Writing[domain.Event]{
		Oldest: 1, Since: map[string]int{"tally.emptied": 2},
		Needs: func(e domain.Event) int {
			if added, ok := e.(labelledAdded); ok && added.Limit != 0 {
				return 2
			}
			return 0
		},
	})
}

// TestUpgrade runs an older and a newer build on one log. The newer one writes the older schema while the older one is live, and then the
// new schema, which the older one refuses.
func TestUpgrade(t *testing.T) {
	r := single(t, 2)
	older, newer := r.store(), r.other()
	build, oldest := newerBuild(), 1
	newer.WriteFor(func(string) int { return oldest })
	key := newKey()
	do := func(event domain.Event) (eventstore.Tip[labelled], error) {
		return eventstore.Execute(testContext(t), newer, build, key, newMeta(t, newer), func(labelled) (domain.Event, error) { return event, nil })
	}
	must := func(event domain.Event, schema int, want labelled) {
		t.Helper()
		tip, err := do(event)
		if err != nil || tip.Recorded.Schema != schema {
			t.Fatalf("%+v: schema %+v, %v", event, tip.Recorded, err)
		}
		same(t, "answer", tip.State, want)
		loaded, err := eventstore.Load(testContext(t), newer, build, key, eventstore.Latest)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "state", loaded.State, want)
	}
	refused := func(event domain.Event) {
		t.Helper()
		if _, err := do(event); !errors.Is(err, format.ErrNotEverywhere) || domain.ReasonOf(err) != domain.ReasonServiceUnavailable {
			t.Errorf("%+v while an older build is live: %v", event, err)
		}
	}
	must(labelledAdded{N: 1, Label: "first"}, 1, labelled{Sum: 1, Count: 1, Label: "first"})
	mustAdd(t, older, key, added{N: 10}) // it writes a state without the label
	must(labelledAdded{N: 100}, 1, labelled{Sum: 111, Count: 3, Label: "first"})
	refused(emptied{Why: "new type"})
	refused(labelledAdded{Limit: 5})
	mustAdd(t, older, key, added{N: 1000})
	if events, err := newer.History(testContext(t), key); err != nil || len(events) != 4 {
		t.Errorf("%d events: %v", len(events), err)
	}

	oldest = math.MaxInt // the older node has left
	must(labelledAdded{Limit: 5}, 2, labelled{Sum: 1111, Count: 5, Label: "first", Limit: 5})
	must(emptied{Why: "new type"}, 2, labelled{Count: 6, Label: "first", Limit: 5})

	oldest = 1 // an older node comes back: it must not take the state for whole
	if err := second(add(t, older, key, added{N: 1})); !errors.Is(err, format.ErrNewerSchema) {
		t.Errorf("the older build: %v", err)
	}
	must(labelledAdded{N: 3}, 2, labelled{Sum: 3, Count: 7, Label: "first"})
	if err := second(add(t, older, key, added{N: 1})); !errors.Is(err, format.ErrNewerSchema) {
		t.Errorf("the older build: %v", err)
	}
	key = newKey()
	must(labelledAdded{N: 2, Label: "other"}, 1, labelled{Sum: 2, Count: 1, Label: "other"})
	mustAdd(t, older, key, added{N: 2})

	oldest = 0 // a node does not know tallies
	key = newKey()
	refused(labelledAdded{N: 1})
}
