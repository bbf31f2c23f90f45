package workflows

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/workflow"
	"payledger/eventstore"
	"payledger/eventstore/eventstoretest"
)

// TestBooks checks that the workflows in force at any time are those of the log, and that a history
// is read once, however many old events are planned.
func TestBooks(t *testing.T) {
	t.Parallel()
	ctx, account := context.Background(), domain.AccountID("acct1")
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	config := eventstoretest.Config(eventstoretest.Server(t, t.TempDir()))
	config.Now = func() time.Time { return at }
	store := eventstoretest.OpenOn(t, config)
	key := eventstore.Workflows.Key(account, string(account))
	record := func(version int64, after time.Duration) {
		t.Helper()
		config := workflow.Definition{Name: fmt.Sprint("v", version)}
		meta, err := store.NewMeta("test", "request")
		meta.At = at.Add(after)
		if err == nil {
			_, err = eventstore.Execute(ctx, store, eventstore.Workflows, key, meta, func(workflow.State) (workflow.Event, error) {
				if version == 1 {
					return workflow.Created{At: meta.At, Account: account, ID: "w", Definition: config}, nil
				}
				return workflow.Changed{At: meta.At, ID: "w", Version: version, Definition: config}, nil
			})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for version := range int64(30) {
		record(version+1, time.Duration(version)*time.Second)
	}
	record(31, 10*time.Second) // by a clock that is behind
	b := definitionHistory{store: store}
	b.refresh()
	same := func(after time.Duration) {
		t.Helper()
		tip, err := eventstore.Load(ctx, store, eventstore.Workflows, key, eventstore.Applied)
		if err != nil {
			t.Fatal(err)
		}
		want, err := eventstore.AsOf(ctx, store, eventstore.Workflows, tip.Recorded, at.Add(after))
		if err != nil {
			t.Fatal(err)
		}
		got, err := b.at(ctx, account, at.Add(after))
		if err != nil || got.Revision != want.Revision {
			t.Errorf("after %s: revision %d, want %d: %v", after, got.Revision, want.Revision, err)
		}
	}
	for _, after := range []time.Duration{time.Hour, 9 * time.Second, 500 * time.Millisecond, -time.Second, 28 * time.Second, 9 * time.Second} {
		same(after)
	}
	record(32, time.Minute)
	same(9 * time.Second)
	b.refresh()
	same(2 * time.Minute)
	if n := len(b.of[account].changes); n != 32 || b.changes != 32 {
		t.Errorf("%d changes, %d counted", n, b.changes)
	}
	if first, err := b.at(ctx, account, at); err != nil || first.Revision != 1 {
		t.Fatalf("%+v %v", first, err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if again, err := b.at(ctx, account, at.Add(time.Millisecond)); err != nil || again.Revision != 1 {
		t.Errorf("read again: %+v %v", again, err)
	}
	if unknown, err := b.at(ctx, "acct2", at); err == nil {
		t.Errorf("a closed store returned %+v", unknown)
	}
}

// TestRecent checks that a simulation's cache is bounded by size, and has only the newest event of
// an aggregate.
func TestRecent(t *testing.T) {
	t.Parallel()
	b := newRecent()
	key := func(n int) eventstore.Key { return eventstore.Key{ID: strconv.Itoa(n)} }
	large := []byte(strings.Repeat("x", 200<<10))
	const many = 1000
	for n := range many {
		b.Put(key(n), &eventstore.Recorded{Key: key(n), Seq: uint64(n) + 1, Body: large})
	}
	for seq := range uint64(6000) {
		b.Put(key(many), &eventstore.Recorded{Key: key(many), Seq: many + 1 + seq})
	}
	if r, there := b.Get(key(many)); !there || r.Seq != many+6000 {
		t.Errorf("the newest event of an aggregate is %+v", r)
	}
	kept := 0
	for n := range many {
		if _, there := b.Get(key(n)); there {
			kept++
		}
	}
	if kept == 0 || kept*len(large) > recentBytes+len(large) {
		t.Errorf("%d events of %d bytes are kept", kept, len(large))
	}
}
