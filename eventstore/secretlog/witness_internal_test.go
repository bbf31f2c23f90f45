package secretlog

import (
	"maps"
	"testing"

	"payledger/eventstore/tipstore"
	"payledger/eventstore/tipstore/tipfiles"
)

func tipsInMemory(t *testing.T) *tipstore.Store {
	t.Helper()
	tips, err := tipfiles.Open(tipstore.Options{Cache: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tips.Close() })
	return tips
}

// TestWitness: what a write holds counts as written only when the caller says so, and a segment
// that was dropped is in no later write.
func TestWitness(t *testing.T) {
	t.Parallel()
	tips := tipsInMemory(t)
	var w Witness
	write := func(lost bool) map[string]uint64 {
		t.Helper()
		batch := tips.NewBatch()
		news, err := w.Write(batch)
		if err != nil {
			t.Fatal(err)
		}
		if !lost {
			if err := batch.Commit(); err != nil {
				t.Fatal(err)
			}
			w.Written(news)
		}
		return news
	}
	stored := func(want map[string]uint64) {
		t.Helper()
		view := tips.Snapshot()
		defer view.Close()
		if found, err := ReadWitness(view); err != nil || !maps.Equal(found.Acked, want) || found.Floor != nil {
			t.Errorf("the tip store has %v, %v; want %v", found, err, want)
		}
	}
	w.saw("SECRETS_1", 7)
	w.saw("SECRETS_2", 9)
	w.saw("SECRETS_1", 5)
	if w.End() != 9 || w.Acked("SECRETS_1") != 7 || len(w.Known()) != 2 {
		t.Errorf("it ends at %d, the first segment at %d", w.End(), w.Acked("SECRETS_1"))
	}
	write(true)
	stored(map[string]uint64{})
	write(false)
	stored(map[string]uint64{"SECRETS_1": 7, "SECRETS_2": 9})
	if news := write(false); len(news) != 0 {
		t.Errorf("%v is written again", news)
	}
	w.forget("SECRETS_1")
	w.saw("SECRETS_2", 12)
	w.Named(20)
	if news := write(false); !maps.Equal(news, map[string]uint64{"SECRETS_2": 12}) || w.End() != 20 {
		t.Errorf("%v is written, and it ends at %d", news, w.End())
	}
}
