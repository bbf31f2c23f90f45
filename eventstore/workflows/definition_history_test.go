package workflows

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/workflow"
	"payledger/eventstore"
	"payledger/eventstore/eventstoretest"
)

// TestBooks checks that the workflows in force at any time are those of the log, and that a history is read once, however many old events
// are planned.
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
		tip, err := eventstore.Load(ctx, store, eventstore.Workflows, key, eventstore.AllowStale)
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
		t.Errorf("a store that is closed told %+v", unknown)
	}
}

// TestRecent checks that a simulation's cache is bounded by size and by number.
func TestRecent(t *testing.T) {
	t.Parallel()
	b := newEventCache()
	held := func() (n, bytes int) {
		for _, m := range []map[uint64]*eventstore.Recorded{b.newer, b.older} {
			for _, r := range m {
				n, bytes = n+1, bytes+len(r.Body)
			}
		}
		return n, bytes
	}
	large := []byte(strings.Repeat("x", 200<<10))
	for seq := range uint64(1000) {
		b.put(&eventstore.Recorded{Seq: seq + 1, Body: large})
		if n, bytes := held(); bytes > 2*(cacheBytes+len(large)) {
			t.Fatalf("%d events of %d bytes", n, bytes)
		}
	}
	if b.get(1000) == nil || b.get(1) != nil {
		t.Error("the newest are not kept, or the oldest are")
	}
	for seq := uint64(2000); seq < 8000; seq++ {
		b.put(&eventstore.Recorded{Seq: seq, PrevSeq: seq - 1})
	}
	if n, _ := held(); n > 100 {
		t.Errorf("%d events, most of one aggregate", n)
	}
}
