package secretlog

import (
	"encoding/binary"
	"errors"
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

// TestWitness: what a write holds counts as written only when the caller says so. A tip store of an
// earlier build has a number for each segment.
func TestWitness(t *testing.T) {
	t.Parallel()
	tips := tipsInMemory(t)
	var w Witness
	write := func(lost bool) uint64 {
		t.Helper()
		batch := tips.NewBatch()
		acked, err := w.Write(batch)
		if err != nil {
			t.Fatal(err)
		}
		if !lost {
			if err := batch.Commit(); err != nil {
				t.Fatal(err)
			}
			w.Written(acked)
		}
		return acked
	}
	stored := func(want uint64) {
		t.Helper()
		view := tips.Snapshot()
		defer view.Close()
		if acked, err := WitnessIn(view); err != nil || acked != want {
			t.Errorf("the tip store has %d, %v; want %d", acked, err, want)
		}
	}
	stored(0)
	batch := tips.NewBatch()
	for name, acked := range map[string]uint64{"wSECRETS_1": 6, "wSECRETS_2": 8} {
		if err := batch.Set([]byte(name), append(binary.BigEndian.AppendUint64(nil, acked), 1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := batch.Commit(); err != nil {
		t.Fatal(err)
	}
	stored(8)
	w.saw(9)
	w.saw(7)
	if w.End() != 9 || w.Acked() != 9 {
		t.Errorf("it ends at %d, and is acknowledged up to %d", w.End(), w.Acked())
	}
	write(true)
	stored(8)
	write(false)
	stored(9)
	w.Named(20)
	if acked := write(false); acked != 0 || w.End() != 20 {
		t.Errorf("%d is written again, and it ends at %d", acked, w.End())
	}
	w.saw(12)
	if acked := write(false); acked != 12 || w.End() != 20 {
		t.Errorf("%d is written, and it ends at %d", acked, w.End())
	}
	stored(12)
}

// TestCompareWhileASegmentIsDropped: a segment is not compared from the moment at which the tip
// store knows that it is dropped. Its records leave the tip store in several writes, and its files
// later still.
func TestCompareWhileASegmentIsDropped(t *testing.T) {
	t.Parallel()
	tips := tipsInMemory(t)
	compared := func(stream string, through uint64) {
		t.Helper()
		view := tips.Snapshot()
		defer view.Close()
		if c, err := compare(view, stream, 9); err != nil || c.through != through {
			t.Errorf("%s: %v, %v", stream, c, err)
		}
	}
	compared("SECRETS_1", 9)
	compared("SECRETS_2", 9)
	floor := append(binary.BigEndian.AppendUint64(nil, 9), newDropped(1, 7, 2).body...)
	batch := tips.NewBatch()
	if err := errors.Join(batch.Set([]byte(droppedKey()), floor), batch.Commit()); err != nil {
		t.Fatal(err)
	}
	compared("SECRETS_1", 0)
	compared("SECRETS_2", 9)
}
