package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"payledger/domain/inbox"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/domain/seedtest"
	"payledger/eventstore"
	"payledger/eventstore/codec"
	"payledger/eventstore/engine"
)

// longLife appends the events of a payment with many refunds, and a notification after each tenth
// event.
func longLife(t *testing.T, store *engine.Store, refunds int) {
	t.Helper()
	moves := []move{create, answer(1, processor.Succeeded), capture(1250), answer(3, processor.Succeeded)}
	for range refunds {
		moves = append(moves, refund(1), answer(uint64(len(moves)+1), processor.Succeeded))
	}
	lead(t, store, id, moves...)
	begin := time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)
	for i := 0; i < len(moves); i += 10 {
		at, name := begin.Add(time.Duration(i)*time.Second+time.Millisecond), fmt.Sprintf("nt_%d", i)
		meta, err := store.NewMeta("processor:ADYEN", "request")
		if err != nil {
			t.Fatal(err)
		}
		meta.At = at
		_, err = eventstore.Execute(context.Background(), store, eventstore.Inboxes, eventstore.InboxKey(string(id)), meta, func(s inbox.State) (inbox.Event, error) {
			return inbox.DecideReceive(s, inbox.Receive{At: at, Body: `{}`, Payload: processor.Notification{ID: name, Processor: processor.Adyen, Kind: processor.Refund, Reference: id}})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestParts: the parts of a history, of any length, together equal the whole history, including
// changes, positions and notifications.
func TestParts(t *testing.T) {
	store, vault := ledger(t)
	longLife(t, store, 40)
	covered(t, store, vault)
	h := Reader{Store: store, Secrets: vault}
	for _, end := range []At{{}, {Revision: 70}} {
		whole, err := h.all(owner, id, end)
		if err != nil || end.Revision == 0 && len(whole) != 84 || end.Revision > 0 && len(whole) != 70 {
			t.Fatalf("%d entries, %v", len(whole), err)
		}
		for i, e := range whole {
			if e.Revision != uint64(i)+1 || e.Position == nil || (len(e.Notices) == 1) != (end.Revision == 0 && i%10 == 0) {
				t.Fatalf("entry %d is of revision %d, position %v, with %d notifications", i, e.Revision, e.Position, len(e.Notices))
			}
		}
		limits := []int{13, piece, piece + 1, len(whole), 1000}
		if seedtest.Sampled() && end.Revision > 0 { // the lengths with the whole history show the rest
			limits = []int{13, piece + 1}
		}
		for _, limit := range limits {
			var parts []Entry
			for after := uint64(0); ; {
				entries, next, err := h.part(owner, id, Part{At: end, After: after, Limit: limit})
				if err != nil || len(entries) > limit {
					t.Fatalf("behind %d: %d entries, %v", after, len(entries), err)
				}
				parts = append(parts, entries...)
				if next == 0 {
					break
				}
				after = next
			}
			if got, want := text(t, parts), text(t, whole); got != want {
				t.Errorf("in parts of %d the history differs from the whole", limit)
			}
		}
	}
	for after, want := range map[uint64]int{0: 84, 83: 1, 84: 0, 85: 0, 1 << 53: 0} {
		if entries, next, err := h.part(owner, id, Part{After: after}); err != nil || next != 0 || len(entries) != want {
			t.Errorf("behind %d: %d entries, next %d, %v", after, len(entries), next, err)
		}
	}
}

func text(t *testing.T, entries []Entry) string {
	t.Helper()
	data, err := json.Marshal(entries)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestFull checks that a part ends behind the entry with which it is full, and that the next part
// continues there.
func TestFull(t *testing.T) {
	store, vault := ledger(t)
	longLife(t, store, 4)
	h := Reader{Store: store, Secrets: vault}
	whole, err := h.all(owner, id, At{})
	if err != nil {
		t.Fatal(err)
	}
	var parts []Entry
	for after, taken := uint64(0), 0; ; taken = 0 {
		next, err := h.Payment(context.Background(), owner, id, Part{After: after, Limit: 100}, func(e Entry) error {
			parts = append(parts, e)
			if taken++; taken == 5 {
				return ErrFull
			}
			return nil
		})
		if err != nil || next != 0 && next != after+5 {
			t.Fatalf("behind %d: next %d, %v", after, next, err)
		}
		if after = next; next == 0 {
			break
		}
	}
	if text(t, parts) != text(t, whole) {
		t.Errorf("in parts of 5 the history of %d entries differs from the whole", len(whole))
	}
}

// TestEmitFails: an error of emit ends the replay with that error.
func TestEmitFails(t *testing.T) {
	store, vault := ledger(t)
	longLife(t, store, 40)
	h := Reader{Store: store, Secrets: vault}
	gone := errors.New("gone")
	handed := 0
	_, err := h.Payment(context.Background(), owner, id, Part{}, func(Entry) error {
		if handed++; handed == 50 {
			return gone
		}
		return nil
	})
	if !errors.Is(err, gone) || handed != 50 {
		t.Errorf("%d entries, then %v", handed, err)
	}
}

// TestTrailMemory checks that the trail has one piece in memory, for a history of any length. The
// store's caches have their own bounds.
func TestTrailMemory(t *testing.T) {
	store, _ := ledger(t)
	longLife(t, store, 150)
	tip, err := eventstore.Load(context.Background(), store, eventstore.Payments, eventstore.Payments.Key(owner, string(id)), eventstore.Applied)
	if err != nil {
		t.Fatal(err)
	}
	walked, err := follow(context.Background(), store, tip.Recorded)
	if err != nil {
		t.Fatal(err)
	}
	if len(walked.first) > piece || len(walked.times) != 304 || len(walked.ends) > 304/piece+1 {
		t.Errorf("%d events at hand, %d times, %d ends", len(walked.first), len(walked.times), len(walked.ends))
	}
	for _, end := range walked.ends[1:] {
		if end.Body != nil {
			t.Errorf("the body of revision %d is kept", end.Revision)
		}
	}
	seen := 0
	state := payment.State{}
	err = walked.each(context.Background(), tip.Recorded.Revision, func(_ context.Context, r *eventstore.Recorded) error {
		if r.Revision != uint64(seen)+1 || len(r.Body) == 0 {
			return fmt.Errorf("revision %d comes after %d", r.Revision, seen)
		}
		seen++
		fact, err := eventstore.Payments.Event(r)
		if err != nil {
			return err
		}
		state = payment.Evolve(state, fact)
		return nil
	})
	if err != nil || seen != 304 || text1(t, state) != text1(t, tip.State) {
		t.Errorf("%d events, %v", seen, err)
	}
}

func text1(t *testing.T, s payment.State) string {
	t.Helper()
	data, err := codec.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
