package simulator_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"payledger/domain/processor"
	"payledger/processorsim/simulator"
)

// TestArchive checks that the archive of a stopped simulator has the entries that a running one
// returns, and changes no byte of the file, not even of a torn last line. The books of a running
// simulator are refused.
func TestArchive(t *testing.T) {
	b := newBench(t)
	sale := b.approved(1000)
	b.send(b.on(sale, processor.Capture, 400))
	want, err := b.client.ByReference(t.Context(), processor.Adyen, "01payment")
	must(t, err)
	if _, err := simulator.OpenArchive(b.dir); err == nil {
		t.Error("read while the simulator runs")
	}
	must(t, b.sim.Close())
	file := filepath.Join(b.dir, "books.jsonl")
	text, err := os.ReadFile(file)
	must(t, err)
	text = append(text, `{"type":"acc`...)
	must(t, os.WriteFile(file, text, 0o400))
	archive, err := simulator.OpenArchive(b.dir)
	must(t, err)
	got, err := archive.ByReference(t.Context(), processor.Adyen, "01payment")
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v %v\nwant %+v", got, err, want)
	}
	n := 0
	count := func(processor.Record) error { n++; return nil }
	must(t, archive.Operations(t.Context(), processor.Adyen, time.Time{}, time.Time{}, count))
	must(t, archive.Operations(t.Context(), processor.Stripe, time.Time{}, time.Time{}, count))
	must(t, archive.Operations(t.Context(), processor.Adyen, want[1].CreatedAt.Add(time.Nanosecond), time.Time{}, count))
	if n != len(want) {
		t.Errorf("%d operations, want %d", n, len(want))
	}
	if after, err := os.ReadFile(file); err != nil || string(after) != string(text) {
		t.Error("the file was changed", err)
	}
	must(t, os.Chmod(file, 0o600))
	if _, err := simulator.OpenArchive(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty folder: %v", err)
	}
}
