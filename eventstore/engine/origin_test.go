package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"payledger/domain/payment"
	"payledger/domain/person"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/format"
)

// withOrigin returns an event with all parts of a body: the fact, the state, the part moved out of
// the state, and the origin.
func withOrigin(t *testing.T, origin string) *eventstore.Recorded {
	t.Helper()
	left := payment.Finished{
		Operations: []payment.Operation{{Revision: 3, Kind: processor.Capture, Amount: 7, State: payment.StateSucceeded, Parent: 1}}, KeyHashes: []string{"hash"},
	}
	state := payment.State{ID: "01p", Revision: 9, Operations: []payment.Operation{}, Totals: payment.Totals{Operations: 1, KeyHashes: 1, Captured: 7, Taken: true}}
	state.Past = state.Past.Then(9, left)
	body, err := eventstore.Payments.Core.Encode(origin, payment.AdjustmentUnneeded{KeyHash: "hash"}, state)
	if err != nil {
		t.Fatal(err)
	}
	return &eventstore.Recorded{Type: payment.AdjustmentUnneeded{}.Type(), Schema: eventstore.Payments.Schema, Body: body}
}

// TestOriginBytes: the bytes of a body with an origin never change, the other parts are those of a
// body without one, and a body that was cut short is refused.
func TestOriginBytes(t *testing.T) {
	t.Parallel()
	r, without := withOrigin(t, "2001:db8::7"), withOrigin(t, "")
	file := filepath.Join("testdata", "origin.hex")
	want, err := os.ReadFile(file)
	if os.IsNotExist(err) && *update {
		want = []byte(hexLines(r.Body))
		err = os.WriteFile(file, want, 0o600)
	}
	if err != nil || hexLines(r.Body) != string(want) {
		t.Fatalf("%v; the body is\n%s", err, hexLines(r.Body))
	}
	same(t, "origin", r.Origin(), "2001:db8::7")
	same(t, "origin of a body without one", without.Origin(), "")
	event, state, err := format.Bodies(r)
	plainEvent, plainState, plainErr := format.Bodies(without)
	if err != nil || plainErr != nil || string(event) != string(plainEvent) || string(state) != string(plainState) {
		t.Errorf("the event or the state differ: %v, %v", err, plainErr)
	}
	_, left, err := r.Parts()
	_, plainLeft, plainErr := without.Parts()
	if err != nil || plainErr != nil || len(left) == 0 || string(left) != string(plainLeft) {
		t.Errorf("the part moved out of the state differs: %x and %x, %v, %v", left, plainLeft, err, plainErr)
	}
	for n := range r.Body {
		if _, _, err := (&eventstore.Recorded{Body: r.Body[:n]}).Parts(); err == nil {
			t.Errorf("%d bytes of %d are a body", n, len(r.Body))
		}
	}
}

// TestOriginIsAText: no other value than a text is an origin, and the keys of a body have one
// order.
func TestOriginIsAText(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"a number":    "\x83\xa5event\x80\xa5state\x80\xa6origin\x07",
		"empty":       "\x83\xa5event\x80\xa5state\x80\xa6origin\xa0",
		"first":       "\x83\xa6origin\xa1a\xa5event\x80\xa5state\x80",
		"twice":       "\x84\xa5event\x80\xa5state\x80\xa6origin\xa1a\xa6origin\xa1b",
		"another key": "\x83\xa5event\x80\xa5state\x80\xa6origen\xa1a",
		"uncounted":   "\x82\xa5event\x80\xa5state\x80\xa6origin\xa1a",
	} {
		r := &eventstore.Recorded{Body: []byte(body)}
		if _, _, err := r.Parts(); err == nil || r.Origin() != "" {
			t.Errorf("%s: origin %q, %v", name, r.Origin(), err)
		}
	}
	r := &eventstore.Recorded{Body: []byte("\x83\xa5event\x80\xa5state\x80\xa6origin\xa1a")}
	same(t, "origin", r.Origin(), "a")
}

// TestOriginOfACommand: an event has the address of its command, its hash covers the address, and a
// reader of the log finds it.
func TestOriginOfACommand(t *testing.T) {
	t.Parallel()
	s := sole(t, 1).store()
	ctx := context.Background()
	meta := newMeta(t, s)
	meta.Origin = "192.0.2.1\n"
	decide := func(person.State) (person.Event, error) {
		return person.Erased{At: meta.At, Account: "acct", CustomerID: "ada", Number: 1}, nil
	}
	tip, err := eventstore.Execute(ctx, s, eventstore.Persons, eventstore.Persons.Key("acct", "p"), meta, decide)
	if err != nil {
		t.Fatal(err)
	}
	meta.Origin = ""
	tip, err = eventstore.ExecuteFrom(ctx, s, eventstore.Persons, tip, meta, decide)
	if err != nil {
		t.Fatal(err)
	}
	second, err := s.Read(ctx, tip.Recorded.Shard, tip.Recorded.Seq)
	if err != nil {
		t.Fatal(err)
	}
	first, err := s.Read(ctx, second.Shard, second.PrevSeq)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "origin", first.Origin(), "192.0.2.1 ") // no line break
	same(t, "origin of the second event", second.Origin(), "")
	forged := *first
	forged.Body = []byte(strings.Replace(string(first.Body), "192.0.2.1", "192.0.2.9", 1))
	if first.Link(eventstore.Hash{}) != first.Hash || forged.Link(eventstore.Hash{}) == first.Hash {
		t.Error("the hash does not cover the origin")
	}
}
