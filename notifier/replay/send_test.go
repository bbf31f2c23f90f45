package replay

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"payledger/eventstore"
)

// TestQueue: a task waits for the earlier tasks of its aggregate, and a failure ends the chunk.
func TestQueue(t *testing.T) {
	t.Parallel()
	event := func(id string) *eventstore.Recorded { return &eventstore.Recorded{Key: eventstore.Key{ID: id}} }
	synctest.Test(t, func(t *testing.T) {
		q := newQueue([]task{{event: event("one")}, {event: event("two")}, {event: event("one")}, {event: event("one")}, {event: event("three")}})
		taken := make(chan *task, 2)
		take := func() { taken <- q.take(context.Background()) }
		take()
		take()
		first, second := <-taken, <-taken
		go take()
		synctest.Wait()
		q.ended(second, true, nil)
		synctest.Wait()
		if len(taken) > 0 {
			t.Fatal("two tasks of an aggregate are under way")
		}
		q.ended(first, false, nil)
		third := <-taken
		if third != &q.chunk[2] || q.done != 1 || !first.done {
			t.Errorf("%+v", third)
		}
		go take()
		synctest.Wait()
		failed := errors.New("failed")
		q.ended(third, true, failed)
		if next := <-taken; next != nil || !errors.Is(q.first, failed) || q.done != 1 || third.done {
			t.Errorf("after a failure: %+v, %d done, %v", next, q.done, q.first)
		}
	})
}
