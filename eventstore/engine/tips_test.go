package engine_test

import (
	"testing"

	"payledger/eventstore"
	"payledger/eventstore/engine"
)

// TestLookedUpIsRemembered checks that a sole writer asks the server once for an aggregate that an
// earlier process wrote, and remembers that aggregate and its newer events from then on.
func TestLookedUpIsRemembered(t *testing.T) {
	t.Parallel()
	r := sole(t, 1)
	key := newKey()
	mustAdd(t, r.store(), key, added{N: 2})
	r.store().Close()
	s := r.reopen(t, 0, func(*engine.Config) {})
	if _, known := eventstore.Remembered(s, tallies, key); known {
		t.Fatal("known before it was looked up")
	}
	tip, err := eventstore.Load(testContext(t), s, tallies, key, eventstore.Latest)
	if err != nil {
		t.Fatal(err)
	}
	known, is := eventstore.Remembered(s, tallies, key)
	if !is {
		t.Fatal("not remembered")
	}
	same(t, "what is remembered", known, tip)
	mustAdd(t, s, key, added{N: 3})
	if _, err := eventstore.Load(testContext(t), s, tallies, key, eventstore.Latest); err != nil {
		t.Fatal(err)
	}
	if known, _ := eventstore.Remembered(s, tallies, key); known.State.Sum != 5 || known.Recorded.Revision != 2 {
		t.Errorf("remembered is %+v, revision %d", known.State, known.Recorded.Revision)
	}
}

// TestLateLookUpIsNotRemembered checks that the result of a look-up is not remembered if newer
// events were dropped from memory meanwhile: the result may be older.
func TestLateLookUpIsNotRemembered(t *testing.T) {
	t.Parallel()
	key, body := newKey(), make([]byte, 100)
	for _, c := range []struct {
		name    string
		between int // events of others while the look-up is under way
		want    bool
	}{{"nothing came between", 0, true}, {"a generation was dropped", 3, false}} {
		t.Run(c.name, func(t *testing.T) {
			tips := engine.NewTips(2 * 2 * 600) // each generation takes two events
			generation := tips.Generation()
			for range c.between {
				other := newKey()
				tips.Put(other, &eventstore.Recorded{Key: other, Seq: 9, Body: body})
			}
			tips.PutSince(key, &eventstore.Recorded{Key: key, Seq: 1, Body: body}, generation)
			if _, got := tips.Get(key); got != c.want {
				t.Errorf("remembered: %t, want %t", got, c.want)
			}
			tips.Put(key, &eventstore.Recorded{Key: key, Seq: 2, Body: body})
			tips.PutSince(key, &eventstore.Recorded{Key: key, Seq: 1, Body: body}, tips.Generation())
			if got, _ := tips.Get(key); got == nil || got.Seq != 2 {
				t.Errorf("an older event replaced a newer one: %v", got)
			}
		})
	}
}
