package export_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"payledger/projections/export"
)

// exchange exchanges the times of events, as clocks that differ and events that were decided twice
// do.
func (f *feed) exchange(times int) {
	for range times {
		one, other := &f.all[f.random.IntN(len(f.all))], &f.all[f.random.IntN(len(f.all))]
		one.Time, other.Time = other.Time, one.Time
	}
}

// rowsOf exports a window and returns the rows of a table, as text in their order.
func rowsOf(t *testing.T, f *feed, format export.Format, window export.Window, table string) (rows []string) {
	t.Helper()
	out := target(t, format)
	run(t, export.Config{Source: f, Format: format, Out: out, Window: window})
	for _, row := range readBack(t, format, out, table) {
		rows = append(rows, fmt.Sprint(row))
	}
	slices.Sort(rows)
	return rows
}

// TestAdjoiningWindows: the postings up to a time and those after it are those of the whole log, in
// whatever order the times are. So nothing is booked twice or left out where two months meet.
func TestAdjoiningWindows(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		f := newFeed(seed)
		f.grow(60)
		f.exchange(20)
		whole := rowsOf(t, f, export.CSV, export.Window{}, "entries")
		for _, at := range []int{0, 15, 30, 45, 59} {
			end := start.Add(time.Duration(at) * time.Minute)
			both := append(rowsOf(t, f, export.CSV, export.Window{To: end}, "entries"),
				rowsOf(t, f, export.CSV, export.Window{From: end.Add(time.Microsecond)}, "entries")...)
			slices.Sort(both)
			if !slices.Equal(both, whole) {
				t.Errorf("seed %d, up to minute %d: %s", seed, at, firstDifference(both, whole))
			}
		}
	}
}

// TestRowsAtTheEnd: the payments and disputes of a window are as they were after the newest event
// that is not behind it, whatever stands between the events in the log.
func TestRowsAtTheEnd(t *testing.T) {
	t.Parallel()
	f := newFeed(5)
	f.grow(120)
	f.exchange(40)
	end := start.Add(70 * time.Minute)
	newest := map[string]uint64{}
	for _, e := range f.all {
		if !e.Time.After(end) {
			newest[e.AggregateID] = e.Position
		}
	}
	for _, format := range []export.Format{export.CSV, export.SQLite} {
		out, rows := target(t, format), 0
		run(t, export.Config{Source: f, Format: format, Out: out, Window: export.Window{To: end}})
		for _, table := range []string{"payments", "disputes"} {
			for _, row := range readBack(t, format, out, table) {
				rows++
				if id := row["id"].(string); row["position"] != int64(newest[id]) {
					t.Errorf("%s: %s is as at position %v, not %d", format, id, row["position"], newest[id])
				}
			}
		}
		if rows != len(newest) {
			t.Errorf("%s: %d payments and disputes of %d", format, rows, len(newest))
		}
	}
}
