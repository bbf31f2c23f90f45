package apptest

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"payledger/domain/childtest"
)

// HyparquetRows returns the rows that hyparquet reads from the Parquet files of an exported folder,
// by table and in the order of the files; false where hyparquet cannot be installed. A row is JSON
// without the columns that are null, with its columns sorted by name. A file that hyparquet cannot
// read is an error.
func HyparquetRows(t testing.TB, dir string) (rows map[string][]string, there bool, err error) {
	t.Helper()
	tools, there := NpmTools(t)
	if !there {
		return nil, false, nil
	}
	at := t.TempDir()
	PutClient(t, at, "hyparquet.mjs", "hyparquet.mjs")
	if err := os.Symlink(filepath.Join(tools, "node_modules"), filepath.Join(at, "node_modules")); err != nil {
		t.Fatal(err)
	}
	program := childtest.Tied(exec.CommandContext(t.Context(), "node", filepath.Join(at, "hyparquet.mjs"), dir))
	program.Stderr = os.Stderr
	out, err := program.Output()
	if err != nil {
		return nil, true, err
	}
	rows = map[string][]string{}
	for line := range strings.Lines(string(out)) {
		table, row, _ := strings.Cut(line, "\t")
		rows[table] = append(rows[table], sortedObject(t, row))
	}
	return rows, true, nil
}

// LineRows returns the same of a folder's JSON lines.
func LineRows(t testing.TB, dir string) map[string][]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no JSON lines: %v", err)
	}
	rows := map[string][]string{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		table, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(path), ".jsonl"), "-")
		for line := range strings.Lines(string(text)) {
			rows[table] = append(rows[table], sortedObject(t, line))
		}
	}
	return rows
}

// sortedObject returns a JSON object with its names sorted. Numbers stay as they are written.
func sortedObject(t testing.TB, text string) string {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var row map[string]any
	if err := decoder.Decode(&row); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	var sorted bytes.Buffer
	encoder := json.NewEncoder(&sorted)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(row); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(sorted.String())
}

// NewestRows returns the rows of a table that count, sorted: increments have the rows of a payment,
// a dispute or a delivery once more if they changed.
func NewestRows(t testing.TB, table string, rows []string) (kept []string) {
	t.Helper()
	owner := map[string]string{"payments": "id", "disputes": "id", "transactions": "payment_id", "refunds": "payment_id", "deliveries": "id"}[table]
	order := "position"
	if table == "deliveries" {
		order = "place"
	}
	read := func(row string) (id any, place float64) {
		var columns map[string]any
		if err := json.Unmarshal([]byte(row), &columns); err != nil {
			t.Fatal(err)
		}
		place, is := columns[order].(float64)
		if !is {
			t.Fatalf("%s: a row without %s: %s", table, order, row)
		}
		return columns[owner], place
	}
	newest := map[any]float64{}
	for _, row := range rows {
		id, place := read(row)
		newest[id] = max(newest[id], place)
	}
	for _, row := range rows {
		if id, place := read(row); owner == "" || place == newest[id] {
			kept = append(kept, row)
		}
	}
	slices.Sort(kept)
	return kept
}
