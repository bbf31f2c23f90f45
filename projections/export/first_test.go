package export_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/format"
	"payledger/eventstore/ordered"
	"payledger/projections/eventjson"
	"payledger/projections/eventjson/eventjsontest"
	"payledger/projections/export"
)

// TestFirstEvents: the tables of an export of a log whose aggregates have one event each have no
// zero time and no empty id.
func TestFirstEvents(t *testing.T) {
	t.Parallel()
	store := eventstoretest.Open(t, t.TempDir())
	if err := eventjsontest.FirstEvents(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	var f feed
	for shard := range store.Shards() {
		last, err := store.LastSeq(t.Context(), shard)
		if err == nil {
			err = store.Groups(t.Context(), shard, 1, format.GroupOf(last), func(g *format.Group) error {
				for _, r := range g.Frames {
					e, err := eventjson.Render(t.Context(), store, ordered.Event{Recorded: r, Position: uint64(len(f.all) + 1)})
					if err != nil {
						return err
					}
					text, err := json.Marshal(e)
					if err != nil {
						return err
					}
					var read export.Event
					if err := json.Unmarshal(text, &read); err != nil {
						return err
					}
					f.all = append(f.all, read)
				}
				return nil
			})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(f.all) < len(eventjsontest.FirstTypes()) {
		t.Fatal(len(f.all))
	}
	for _, kind := range []export.Format{export.JSONLines, export.Parquet, export.SQLite, export.CSV} {
		out := t.TempDir()
		if kind == export.SQLite {
			out = filepath.Join(out, "export.sqlite")
		}
		run(t, export.Config{Source: &f, Format: kind, Out: out})
		for _, table := range export.Tables() {
			if table.Name == "deliveries" || table.Name == "refunds" || table.Name == "entries" { // no first event fills them
				continue
			}
			rows := readBack(t, kind, out, table.Name)
			if len(rows) == 0 {
				t.Errorf("%s has no rows", table.Name)
			}
			for _, row := range rows {
				for _, at := range eventjsontest.NoValues(map[string]any(row), "$") {
					t.Errorf("%s, %s: no value at %s of %v", kind, table.Name, at, row)
				}
			}
		}
	}
}
