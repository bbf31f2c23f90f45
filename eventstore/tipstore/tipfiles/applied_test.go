package tipfiles_test

import (
	"slices"
	"testing"

	"payledger/eventstore/applied"
	"payledger/eventstore/format"
	"payledger/eventstore/tiprow"
	"payledger/eventstore/tipstore"
	"payledger/eventstore/tipstore/tipfiles"
)

// event returns an event of an aggregate; its group has the sequence seq.
func event(id string, revision, seq uint64) *format.Recorded {
	return &format.Recorded{Key: format.Key{Account: "acct", Aggregate: "tally", ID: id}, Revision: revision, Seq: format.At(seq, 0)}
}

func head(seq uint64) format.Head { return format.Head{Link: format.Link{Seq: seq}} }

// TestWriteFailed: events of a batch that could not be written are found as before, and are in the
// next batch; events that came meanwhile are in the batch after it.
func TestWriteFailed(t *testing.T) {
	t.Parallel()
	tips := applied.NewTips(true, nil)
	first, second := event("a", 1, 1), event("a", 2, 2)
	tips.Apply(first)
	store, err := tipfiles.Open(tipstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	failed := tips.Take(head(1))
	if !failed.New() || tips.Tip(first.Key) != first || tips.Bytes() != 0 {
		t.Error("the event that is being written is lost")
	}
	tips.Apply(second)
	if tips.Tip(first.Key) != second {
		t.Error("the newest event is not the newest one")
	}
	write := func(b applied.Batch) (revision, end uint64) {
		t.Helper()
		batch := store.NewBatch()
		if _, err := b.AddTo(batch, 0, nil); err != nil {
			t.Fatal(err)
		}
		if err := batch.Commit(); err != nil {
			t.Fatal(err)
		}
		value, err := store.Get(tiprow.EndKey(0))
		if err != nil {
			t.Fatal(err)
		}
		at, err := tiprow.ParseEnd(value)
		if err != nil {
			t.Fatal(err)
		}
		r, err := tiprow.Get(store.Get, 0, first.Key)
		if err != nil {
			t.Fatal(err)
		}
		return r.Revision, at.Seq
	}
	again := tips.Take(head(2))
	if revision, end := write(again); revision != 1 || end != 1 {
		t.Errorf("the batch after a failed one has revision %d and end %d", revision, end)
	}
	tips.Written(again)
	if tips.Tip(first.Key) != second {
		t.Error("the event that came meanwhile is lost")
	}
	next := tips.Take(head(2))
	if revision, end := write(next); revision != 2 || end != 2 || !next.New() {
		t.Errorf("the next batch has revision %d and end %d", revision, end)
	}
	tips.Written(next)
	if tips.Tip(first.Key) != nil || tips.Take(head(2)).New() {
		t.Error("a written event waits again")
	}
}

// TestGroups: the newest groups are there without a gap, and their number and bytes are bounded.
func TestGroups(t *testing.T) {
	t.Parallel()
	var groups applied.Groups
	if groups.From(0) != nil {
		t.Error("an empty memory has a group")
	}
	const last = 3 * applied.MaxGroups
	for seq := uint64(1); seq <= last; seq++ {
		groups.Add(&format.Group{Seq: seq})
	}
	all := groups.From(last - applied.MaxGroups + 1)
	if len(all) != applied.MaxGroups || groups.From(last-applied.MaxGroups) != nil || groups.From(last+1) != nil {
		t.Errorf("%d groups are in memory", len(all))
	}
	if !slices.IsSortedFunc(all, func(a, b *format.Group) int { return int(a.Seq) - int(b.Seq) }) || all[0].Seq+applied.MaxGroups-1 != all[len(all)-1].Seq {
		t.Error("the groups have a gap")
	}
	for seq := uint64(last + 1); seq <= last+3; seq++ {
		groups.Add(&format.Group{Seq: seq, Size: 3 << 20})
	}
	if all := groups.From(last + 3); len(all) != 1 || groups.From(last+2) != nil {
		t.Error("more bytes than allowed are in memory")
	}
}
