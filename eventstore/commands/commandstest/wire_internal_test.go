package commandstest

import (
	"testing"

	"payledger/eventstore"
	"payledger/eventstore/format"
)

// TestAwaited: a connection that breaks behind an event breaks when the log has this event, not at
// any answer of the server, and once.
func TestAwaited(t *testing.T) {
	t.Parallel()
	r := NewRig(t)
	s := r.Service(nil)
	paid := r.Pay(s, ApprovedCard)
	events, err := r.Store.History(t.Context(), eventstore.Payments.Key(r.By.Account, string(paid.ID)))
	if err != nil {
		t.Fatal(err)
	}
	var a Awaited
	if a.In(r.Store) {
		t.Error("no event is awaited")
	}
	other, first := *events[0], events[0]
	other.Hash = format.Hash{1}
	a.SentAgain(first)
	if a.In(r.Store) {
		t.Error("an event that was sent again was not awaited before")
	}
	a.Await(&other) // another event has its place
	if a.In(r.Store) {
		t.Error("the log has another event")
	}
	a.SentAgain(first)
	if !a.In(r.Store) || a.In(r.Store) {
		t.Error("the log has the event, and it is noticed once")
	}
}
