package engine_test

import (
	"errors"
	"math"
	"testing"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/format"
)

// The builds below have schemas of the tallies after the first one, as builds after the first
// release will have. No aggregate of the ledger has one: these tests show the upgrade path.

// The newer build added a field to the event and the state, a field that an older build would lose
// in its own events, and an event type.
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

// readers are nodes of which one reads a schema.
type readers struct {
	eventstoretest.Nodes
	oldest *int
}

func (r readers) Reads(string) int { return *r.oldest }

// TestUpgrade runs an older and a newer build on one log. The newer one writes the older schema
// while the older one is live, and then the new schema, which the older one refuses.
func TestUpgrade(t *testing.T) {
	r := cluster(t, 2)
	older, newer := r.store(), r.other()
	build, oldest := newerBuild(), 1
	newer.ServeWith(readers{oldest: &oldest})
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

// In schema 2 the number is called "amount", and the state has a maximum that schema 1 never kept.
// In schema 3 the amount is in cents.
type (
	tally2 struct {
		Sum int64 `json:"sum"`
		Max int64 `json:"max"`
	}
	added2 struct {
		Amount int64 `json:"amount"`
	}
	tally3 tally2
	added3 struct {
		Cents int64 `json:"cents"`
	}
)

func (added2) Type() string { return "tally.added" }
func (added3) Type() string { return "tally.added" }

// testOlderSchema: the builds of three schemas follow each other on one aggregate. Each reads the
// events of all schemas before its own, one upgrade after the other, and folds the state again.
// Once it has written, the builds before it refuse the aggregate.
func testOlderSchema(t testing.TB, r *rig) {
	key := newKey()
	for _, n := range []int64{3, 900, 5} {
		mustAdd(t, r.store(), key, added{N: n})
	}
	fromFirst := func(e map[string]any) map[string]any { return map[string]any{"amount": e["n"].(int64)} }
	second := format.NewAggregate("tally", 2, []added2{{}}, func(s tally2, e added2) tally2 {
		return tally2{Sum: s.Sum + e.Amount, Max: max(s.Max, e.Amount)}
	})
	second.Core.Upgrades["tally.added"] = map[int]format.Upgrade{1: fromFirst}
	third := format.NewAggregate("tally", 3, []added3{{}}, func(s tally3, e added3) tally3 {
		return tally3{Sum: s.Sum + e.Cents, Max: max(s.Max, e.Cents)}
	})
	third.Core.Upgrades["tally.added"] = map[int]format.Upgrade{
		1: fromFirst, 2: func(e map[string]any) map[string]any { return map[string]any{"cents": 100 * e["amount"].(int64)} },
	}
	mustBe(t, r, second, key, tally2{Sum: 908, Max: 900}, 1)
	mustBe(t, r, third, key, tally3{Sum: 90_800, Max: 90_000}, 1)
	mustRecord(t, r, second, key, added2{Amount: 1000})
	mustBe(t, r, second, key, tally2{Sum: 1908, Max: 1000}, 2)
	mustBe(t, r, third, key, tally3{Sum: 190_800, Max: 100_000}, 2)
	mustRecord(t, r, third, key, added3{Cents: 7})
	mustBe(t, r, third, key, tally3{Sum: 190_807, Max: 100_000}, 3)
	if _, err := eventstore.Load(testContext(t), r.store(), tallies, key, eventstore.Latest); !errors.Is(err, format.ErrNewerSchema) {
		t.Errorf("the build of schema 1: %v", err)
	}
	if _, err := eventstore.Load(testContext(t), r.store(), second, key, eventstore.Latest); !errors.Is(err, format.ErrNewerSchema) {
		t.Errorf("the build of schema 2: %v", err)
	}
	events, err := r.store().History(testContext(t), key)
	if err != nil || len(events) != 5 {
		t.Fatal(len(events), err)
	}
	for i, want := range []int64{300, 90_000, 500, 100_000, 7} {
		if e, err := third.Event(events[i].Fresh()); err != nil || e.Cents != want {
			t.Errorf("event %d: %+v, want %d cents: %v", i+1, e, want, err)
		}
	}
}

// mustBe loads an aggregate whose newest event has the schema.
func mustBe[S any, E domain.Event](t testing.TB, r *rig, a *eventstore.Aggregate[S, E], key eventstore.Key, want S, schema int) {
	t.Helper()
	tip, err := eventstore.Load(testContext(t), r.store(), a, key, eventstore.Latest)
	if err != nil || tip.Recorded.Schema != schema {
		t.Fatal(tip.Recorded, err)
	}
	same(t, "state", tip.State, want)
}

// mustRecord appends an event in the schema of the build.
func mustRecord[S any, E domain.Event](t testing.TB, r *rig, a *eventstore.Aggregate[S, E], key eventstore.Key, event E) {
	t.Helper()
	tip, err := eventstore.Execute(testContext(t), r.store(), a, key, newMeta(t, r.store()), func(S) (E, error) { return event, nil })
	if err != nil || tip.Recorded.Schema != a.Schema {
		t.Fatal(tip.Recorded, err)
	}
}
