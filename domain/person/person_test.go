package person_test

import (
	"testing"
	"time"

	"payledger/domain/person"
)

var at = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// step decides, and folds the event if there is one.
func step(t *testing.T, s person.State, decide func(person.State) (person.Event, error)) (person.State, bool) {
	t.Helper()
	e, err := decide(s)
	if err != nil {
		t.Fatal(err)
	}
	if e == nil {
		return s, false
	}
	return person.Evolve(s, e), true
}

func erase(s person.State) (person.Event, error) {
	return person.DecideErase(s, person.Erase{At: at, ID: "01x", Account: "acct1", CustomerID: "ada"})
}

func destroyed(number uint64) func(person.State) (person.Event, error) {
	return func(s person.State) (person.Event, error) {
		return person.DecideKeyDestroyed(s, at.Add(time.Second), number)
	}
}

func TestErasures(t *testing.T) {
	t.Parallel()
	var s person.State
	if s.Exists() || s.Number() != 1 || s.HasErased(1) || s.Due() {
		t.Errorf("a person without an erasure: %+v", s)
	}
	if _, happened := step(t, s, destroyed(1)); happened {
		t.Error("a key is destroyed that was not erased")
	}
	for number := uint64(1); number <= 3; number++ {
		var happened bool
		if s, happened = step(t, s, erase); !happened || s.Erased != number || !s.Due() || !s.HasErased(number) || s.HasErased(number+1) || s.Number() != number+1 {
			t.Errorf("after erasure %d: %+v", number, s)
		}
		if _, happened = step(t, s, erase); happened {
			t.Error("an erasure begins while another one is due")
		}
		if _, happened = step(t, s, destroyed(number+1)); happened {
			t.Error("the next key is destroyed")
		}
		if s, happened = step(t, s, destroyed(number)); !happened || s.Due() || s.Destroyed != number {
			t.Errorf("after destruction %d: %+v", number, s)
		}
		if _, happened = step(t, s, destroyed(number)); happened {
			t.Error("a key is destroyed twice")
		}
	}
	if s.Revision != 6 || s.CustomerID != "ada" || s.Account != "acct1" || s.ID != "01x" || !s.CreatedAt.Equal(at) || !s.UpdatedAt.Equal(at.Add(time.Second)) {
		t.Errorf("the end: %+v", s)
	}
}
