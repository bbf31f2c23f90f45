package export_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"payledger/domain/seedtest"
	"payledger/eventstore/eventstoretest"
	"payledger/projections/export"
)

// folders are the formats that write into a folder.
var folders = []export.Format{export.CSV, export.JSONLines, export.Parquet}

func run(t *testing.T, c export.Config) export.Summary {
	t.Helper()
	s, err := export.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// record is a row that was read back, by column; null is absent.
type record map[string]any

// readBack reads every row of a table from the files of a folder, or from a SQLite file.
func readBack(t *testing.T, format export.Format, out, table string) (rows []record) {
	t.Helper()
	if format == export.SQLite {
		return readSQLite(t, out, table)
	}
	paths, err := filepath.Glob(filepath.Join(out, table+"*."+string(format)))
	if err != nil || len(paths) == 0 {
		t.Fatalf("files of %s: %v, %v", table, paths, err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		switch format {
		case export.CSV:
			rows = append(rows, readCSV(t, data, table)...)
		case export.JSONLines:
			rows = append(rows, readLines(t, data)...)
		case export.Parquet:
			rows = append(rows, readParquet(t, data)...)
		}
	}
	return rows
}

func readCSV(t *testing.T, data []byte, table string) (rows []record) {
	t.Helper()
	all, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	columns := columnsOf(table)
	for _, fields := range all[1:] {
		row := record{}
		for i, c := range columns {
			if all[0][i] != c.Name {
				t.Fatalf("column %d of %s is %s, expected %s", i, table, all[0][i], c.Name)
			}
			switch {
			case fields[i] == "" && c.Optional:
			case c.Kind == export.Integer:
				n, err := strconv.ParseInt(fields[i], 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				row[c.Name] = n
			default:
				row[c.Name] = fields[i]
			}
		}
		rows = append(rows, row)
	}
	return rows
}

func columnsOf(table string) []export.Column {
	all := export.Tables()
	return all[slices.IndexFunc(all, func(t export.Table) bool { return t.Name == table })].Columns
}

func readLines(t *testing.T, data []byte) (rows []record) {
	t.Helper()
	decode := json.NewDecoder(bytes.NewReader(data))
	decode.UseNumber()
	for {
		var row record
		err := decode.Decode(&row)
		if errors.Is(err, io.EOF) {
			return rows
		}
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range row {
			switch value := value.(type) {
			case json.Number:
				if row[name], err = value.Int64(); err != nil {
					t.Fatal(err)
				}
			case map[string]any:
				text, err := json.Marshal(value)
				if err != nil {
					t.Fatal(err)
				}
				row[name] = string(text)
			}
		}
		rows = append(rows, row)
	}
}

func readParquet(t *testing.T, data []byte) (rows []record) {
	t.Helper()
	file, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	columns := file.Schema().Columns()
	reader := parquet.NewReader(file)
	defer reader.Close()
	batch := make([]parquet.Row, 1)
	for {
		n, err := reader.ReadRows(batch)
		for _, values := range batch[:n] {
			row := record{}
			for _, v := range values {
				name := columns[v.Column()][0]
				switch {
				case v.IsNull():
				case v.Kind() == parquet.Int64 && strings.HasSuffix(name, "_at") || name == "time":
					row[name] = microseconds(v.Int64())
				case v.Kind() == parquet.Int64:
					row[name] = v.Int64()
				default:
					row[name] = string(v.ByteArray())
				}
			}
			rows = append(rows, row)
		}
		if errors.Is(err, io.EOF) {
			return rows
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func readSQLite(t *testing.T, path, table string) (rows []record) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	found, err := db.QueryContext(t.Context(), "SELECT * FROM "+table)
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	columns, err := found.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for found.Next() {
		values, places := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			places[i] = &values[i]
		}
		if err := found.Scan(places...); err != nil {
			t.Fatal(err)
		}
		row := record{}
		for i, name := range columns {
			if values[i] != nil {
				row[name] = values[i]
			}
		}
		rows = append(rows, row)
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return rows
}

// newest returns the rows that count: of each key those with the highest position of their payment
// or dispute, or with the delivery's highest place.
func newest(table string, rows []record) (kept []string) {
	owner := map[string]string{"payments": "id", "disputes": "id", "transactions": "payment_id", "refunds": "payment_id", "deliveries": "id"}[table]
	order := "position"
	if table == "deliveries" {
		order = "place"
	}
	highest := map[any]int64{}
	for _, row := range rows {
		if owner != "" {
			highest[row[owner]] = max(highest[row[owner]], row[order].(int64))
		}
	}
	for _, row := range rows {
		if owner != "" && row[order].(int64) < highest[row[owner]] {
			continue
		}
		var b strings.Builder
		for _, name := range slices.Sorted(maps.Keys(row)) {
			value := row[name]
			if text, isText := value.(string); isText && name == "event" {
				value = compact(text)
			}
			fmt.Fprintf(&b, "%s=%v;", name, value)
		}
		kept = append(kept, b.String())
	}
	slices.Sort(kept)
	return kept
}

func compact(text string) string {
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(text)); err != nil {
		return err.Error()
	}
	return b.String()
}

// target returns the --out of a format.
func target(t *testing.T, f export.Format) string {
	t.Helper()
	if f == export.SQLite {
		return filepath.Join(t.TempDir(), "export.sqlite")
	}
	return filepath.Join(t.TempDir(), "export")
}

// TestFormatsAgree: every format has the same rows, and the same after appended exports and
// failures in between as after one export.
func TestFormatsAgree(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	steps := []int{2_100, 1, 2_000, 0, 899}
	if seedtest.Sampled() {
		steps = []int{2_100, 1, 300, 0, 99}
	}
	f := newFeed(7)
	for _, n := range steps {
		f.grow(n)
	}
	whole := target(t, export.SQLite)
	run(t, export.Config{Source: f, Format: export.SQLite, Out: whole})
	all := map[string][]string{}
	for _, table := range export.Tables() {
		all[table.Name] = newest(table.Name, readBack(t, export.SQLite, whole, table.Name))
	}
	for _, format := range append(folders, export.SQLite) {
		t.Run(string(format), func(t *testing.T) {
			t.Parallel()
			out := target(t, format)
			grown := newFeed(7)
			for _, n := range steps {
				grown.grow(n)
				c := export.Config{Source: grown, Format: format, Out: out}
				if n != 2_100 {
					done := uint64(len(grown.all) - n)
					c.After = &done
				}
				grown.failAt = uint64(len(grown.all))
				if n > 1 {
					if _, err := export.Run(t.Context(), c); !errors.Is(err, errBroken) {
						t.Fatalf("a feed that breaks: %v", err)
					}
					checkNoHalfFile(t, out)
				}
				grown.failAt = 0
				if s := run(t, c); s.Events != uint64(n) {
					t.Errorf("exported %d events, expected %d", s.Events, n)
				}
			}
			for _, table := range export.Tables() {
				got, expected := newest(table.Name, readBack(t, format, out, table.Name)), all[table.Name]
				if !slices.Equal(got, expected) {
					t.Errorf("%s: %d rows, expected %d; first difference:\n%s", table.Name, len(got), len(expected), firstDifference(got, expected))
				}
			}
		})
	}
}

// TestExportsAreEqual: exports of the same events are the same bytes, so that their hashes can be
// compared.
func TestExportsAreEqual(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	f := newFeed(7)
	f.grow(500)
	window := export.Window{To: f.all[399].Time.Time}
	var first []byte
	for range 3 {
		out := target(t, export.SQLite)
		run(t, export.Config{Source: f, Format: export.SQLite, Out: out, Window: window})
		file, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = file
		}
		if !bytes.Equal(file, first) {
			t.Fatal("two exports differ")
		}
	}
}

func firstDifference(a, b []string) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return a[i] + "\n" + b[i]
		}
	}
	return "one is longer"
}

// checkNoHalfFile: a failed export leaves nothing under a final name, and no parts.
func checkNoHalfFile(t *testing.T, out string) {
	t.Helper()
	parts, err := filepath.Glob(filepath.Join(out, "*.part"))
	if err != nil || len(parts) > 0 {
		t.Errorf("left behind: %v, %v", parts, err)
	}
	if _, err := os.Stat(out + ".part"); err == nil {
		t.Error("the part of the SQLite file is left behind")
	}
}

// TestEntries: the postings of every event are balanced, and their sums equal the books.
func TestEntries(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	f := newFeed(11)
	f.grow(1_000)
	out := target(t, export.SQLite)
	run(t, export.Config{Source: f, Format: export.SQLite, Out: out})
	balance, perEvent := map[string]int64{}, map[int64]int64{}
	for _, row := range readBack(t, export.SQLite, out, "entries") {
		debit, credit := row["debit"].(int64), row["credit"].(int64)
		if debit < 0 || credit < 0 || (debit == 0) == (credit == 0) {
			t.Fatalf("a line is a debit or a credit: %v", row)
		}
		perEvent[row["position"].(int64)] += debit - credit
		balance[fmt.Sprint(row["ledger_account"], " ", row["processor"], " ", row["currency"])] += debit - credit
	}
	for position, sum := range perEvent {
		if sum != 0 {
			t.Errorf("the postings of %d differ by %d", position, sum)
		}
	}
	books := map[string]int64{}
	for _, p := range f.payments {
		of, key := p.Processor, fmt.Sprint(" ", p.Processor.Name, " ", p.CurrencyCode)
		if p.Status == "AUTHORIZED" || p.Status == "PARTIALLY_SETTLED" {
			held := int64(p.Amount - of.AmountCaptured)
			books["holds"+key] += held
			books["authorizations"+key] -= held
		}
		books["receivable"+key] += int64(of.AmountCaptured - of.AmountRefunded)
		books["sales"+key] -= int64(of.AmountCaptured)
		books["refunds"+key] += int64(of.AmountRefunded)
	}
	for _, d := range f.disputes {
		if d.Current.Status != "WON" {
			key := fmt.Sprint(" ", d.Subject.Processor, " ", d.Current.Currency)
			books["disputes"+key] += int64(d.Current.Amount)
			books["receivable"+key] -= int64(d.Current.Amount)
		}
	}
	for _, all := range []map[string]int64{books, balance} {
		maps.DeleteFunc(all, func(_ string, sum int64) bool { return sum == 0 })
	}
	if !maps.Equal(books, balance) {
		t.Errorf("the postings' sums are %v, expected %v", balance, books)
	}
}

// TestCrashBeforeNames: after a crash behind the commit and before the files have their names, the
// next export names them.
func TestCrashBeforeNames(t *testing.T) {
	f := newFeed(3)
	f.grow(500)
	out := target(t, export.CSV)
	s := run(t, export.Config{Source: f, Format: export.CSV, Out: out})
	for _, name := range s.Files[2:] { // as if only the first two had been renamed
		if err := os.Rename(filepath.Join(out, name), filepath.Join(out, name+".part")); err != nil {
			t.Fatal(err)
		}
	}
	f.grow(100)
	run(t, export.Config{Source: f, Format: export.CSV, Out: out, After: &s.Last})
	if rows := readBack(t, export.CSV, out, "events"); len(rows) != 600 {
		t.Errorf("%d events, expected 600", len(rows))
	}
	if rows := newest("payments", readBack(t, export.CSV, out, "payments")); len(rows) != len(f.payments) {
		t.Errorf("%d payments, expected %d", len(rows), len(f.payments))
	}
	checkNoHalfFile(t, out)
}

// TestNamesFail checks that if files cannot be renamed after the commit, the next export renames
// them, both for a first export and for a further one.
func TestNamesFail(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	for _, format := range folders {
		f := newFeed(4)
		f.grow(2_100)
		out := target(t, format)
		c := export.Config{Source: f, Format: format, Out: out}
		var obstacle string
		c.Progress = func(done, newest uint64) {
			if done == newest { // the parts of the first rows are there
				obstacle = filepath.Join(out, "entries."+string(format))
				if c.After != nil {
					obstacle = filepath.Join(out, fmt.Sprintf("entries-%012d.%s", *c.After+1, format))
				}
				if err := os.MkdirAll(filepath.Join(obstacle, "mine"), 0o750); err != nil {
					t.Error(err)
				}
			}
		}
		done := uint64(0)
		for range 2 {
			if _, err := export.Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "gives its files their names") {
				t.Fatalf("%s: %v", format, err)
			}
			if err := os.RemoveAll(obstacle); err != nil {
				t.Fatal(err)
			}
			if c.After == nil { // the first export is not repeated
				again := c
				if _, err := export.Run(t.Context(), again); err == nil || !strings.Contains(err.Error(), "append with --after 2100") {
					t.Fatalf("%s: %v", format, err)
				}
				checkNoHalfFile(t, out)
			}
			done = uint64(len(f.all))
			f.grow(2_100)
			c.After = &done
		}
		c.Progress = nil
		run(t, c)
		checkNoHalfFile(t, out)
		if rows := readBack(t, format, out, "events"); len(rows) != 6_300 {
			t.Errorf("%s: %d events, expected 6300", format, len(rows))
		}
		if rows := newest("payments", readBack(t, format, out, "payments")); len(rows) != len(f.payments) {
			t.Errorf("%s: %d payments, expected %d", format, len(rows), len(f.payments))
		}
	}
}

// TestRefusals: an export that would repeat or leave out events is refused, with the remedy.
func TestRefusals(t *testing.T) {
	f := newFeed(5)
	f.grow(50)
	out := target(t, export.CSV)
	run(t, export.Config{Source: f, Format: export.CSV, Out: out})
	f.grow(50)
	late := uint64(60)
	for name, c := range map[string]export.Config{
		"append with --after 50":              {Format: export.CSV},
		"use --after 50":                      {Format: export.CSV, After: &late},
		"choose another --out":                {Format: export.JSONLines, After: &late},
		"the format parquet needs --out":      {Format: export.Parquet, Out: "-"},
		"events.csv exists already":           {Format: export.CSV, Out: strangers(t)},
		"is it the file of an earlier export": {Format: export.SQLite, Out: filepath.Join(strangers(t), "events.csv")},
	} {
		c.Source = f
		switch c.Out {
		case "":
			c.Out = out
		case "-":
			c.Out = ""
		}
		if _, err := export.Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, expected %q", err, name)
		}
	}
	if rows := readBack(t, export.CSV, out, "events"); len(rows) != 50 {
		t.Errorf("%d events after refused exports, expected 50", len(rows))
	}
}

// TestRestored checks that an export is continued only with a ledger that has the event at its end:
// after the restore of an older back-up, the position may be that of another event, or of none. The
// files stay as they are (D22.10).
func TestRestored(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	for name, c := range map[string]struct {
		lost int // the first event that differs, from 0; 50: none
		size int
		same bool
	}{
		"the same ledger": {50, 80, true}, "nothing new": {50, 50, true}, "grown past the end": {40, 80, false}, "only the last one differs": {49, 50, false},
		"as long as before": {40, 50, false}, "one shorter": {49, 49, false}, "shorter": {40, 45, false}, "another ledger": {0, 80, false},
	} {
		for _, format := range []export.Format{export.CSV, export.SQLite} {
			f, out := newFeed(5), target(t, format)
			f.grow(50)
			run(t, export.Config{Source: f, Format: format, Out: out})
			before := newest("events", readBack(t, format, out, "events"))
			f.grow(30)
			f.all = f.all[:c.size]
			for i := c.lost; i < len(f.all); i++ {
				f.all[i].Hash = "restored " + strconv.Itoa(i)
			}
			done := uint64(50)
			_, err := export.Run(t.Context(), export.Config{Source: f, Format: format, Out: out, After: &done})
			after := newest("events", readBack(t, format, out, "events"))
			switch {
			case c.same && err != nil:
				t.Errorf("%s, %s: %v", name, format, err)
			case c.same && len(after) != c.size:
				t.Errorf("%s, %s: %d events, expected %d", name, format, len(after), c.size)
			case !c.same && (err == nil || !strings.Contains(err.Error(), "at position 50, and the ledger does not have it there: was an older back-up restored") || !strings.Contains(err.Error(), "export into another --out")):
				t.Errorf("%s, %s: %v", name, format, err)
			case !c.same && !slices.Equal(after, before):
				t.Errorf("%s, %s: a refused export changed the files", name, format)
			}
		}
	}
}

// TestUnknownPosition: a first export behind a position that no event has yet is the source's
// error, and leaves no file.
func TestUnknownPosition(t *testing.T) {
	f := newFeed(5)
	f.grow(50)
	unknown := uint64(51)
	var printed bytes.Buffer
	_, err := export.Run(t.Context(), export.Config{Source: f, Format: export.CSV, Stdout: &printed, After: &unknown})
	if !errors.Is(err, errUnknown) || printed.Len() > 0 {
		t.Errorf("%q and %v", &printed, err)
	}
	for _, format := range []export.Format{export.CSV, export.SQLite} {
		out := target(t, format)
		_, err := export.Run(t.Context(), export.Config{Source: f, Format: format, Out: out, After: &unknown})
		if !errors.Is(err, errUnknown) {
			t.Errorf("%s: %v", format, err)
		}
		if left, err := filepath.Glob(filepath.Join(out, "*")); err != nil || len(left) > 0 {
			t.Errorf("%s: %v %v is left", format, left, err)
		}
		if left, err := filepath.Glob(filepath.Join(out, ".*")); err != nil || len(left) > 0 {
			t.Errorf("%s: %v %v is left", format, left, err)
		}
		if info, err := os.Stat(out); err == nil && !info.IsDir() {
			t.Errorf("%s: a file is left", format)
		}
	}
}

// TestUnwritable: a place that cannot be written is an error that says to choose another one.
func TestUnwritable(t *testing.T) {
	f := newFeed(5)
	f.grow(5)
	file := filepath.Join(strangers(t), "events.csv")
	for _, format := range []export.Format{export.CSV, export.SQLite} {
		for _, out := range []string{file, filepath.Join(file, "below")} {
			if _, err := export.Run(t.Context(), export.Config{Source: f, Format: format, Out: out}); err == nil || !strings.Contains(err.Error(), "choose another --out") {
				t.Errorf("%s into %s: %v", format, out, err)
			}
		}
	}
}

// strangers returns a folder with a file that is of no export.
func strangers(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "events.csv"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestWindowEnds: an export of a window cannot be continued: events behind the window would be
// missing.
func TestWindowEnds(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	for _, format := range []export.Format{export.CSV, export.SQLite} {
		f := newFeed(7)
		f.grow(1000)
		c := export.Config{Source: f, Format: format, Out: target(t, format), Window: export.Window{To: f.all[599].Time.Time}}
		if s := run(t, c); s.Events != 600 {
			t.Errorf("%s: %d events", format, s.Events)
		}
		f.grow(100)
		for _, after := range []uint64{0, 600, 1000} {
			_, err := export.Run(t.Context(), export.Config{Source: f, Format: format, Out: c.Out, After: &after})
			if err == nil || !strings.Contains(err.Error(), "choose another --out") {
				t.Errorf("%s: continued after %d: %v", format, after, err)
			}
		}
	}
}

// TestWindow: a window of time limits events, postings and rows.
func TestWindow(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	f := newFeed(9)
	f.grow(1_000)
	window := export.Window{From: f.all[300].Time.Time, To: f.all[599].Time.Time}
	for _, format := range append(folders, export.SQLite) {
		out := target(t, format)
		if s := run(t, export.Config{Source: f, Format: format, Out: out, Window: window}); s.Events != 300 || s.First != 301 || s.Last != 600 {
			t.Errorf("%s: exported %+v, expected 300 events from 301 to 600", format, s)
		}
		for _, table := range []string{"events", "payments", "transactions", "refunds", "disputes", "entries"} {
			for _, row := range readBack(t, format, out, table) {
				if n := row["position"].(int64); n < 301 || n > 600 {
					t.Errorf("%s: a row of %s has the position %d", format, table, n)
				}
			}
		}
	}
	var text bytes.Buffer
	run(t, export.Config{Source: f, Format: export.CSV, Stdout: &text, Window: window})
	if rows := readCSV(t, text.Bytes(), "events"); len(rows) != 300 || rows[0]["position"] != int64(301) {
		t.Errorf("%d events on stdout", len(rows))
	}
}

// TestOnce: an export that nothing will be appended to leaves the tables and nothing else, also
// after an appended one.
func TestOnce(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	f := newFeed(9)
	f.grow(100)
	for _, format := range folders {
		out := target(t, format)
		tables := func(want int) {
			t.Helper()
			for _, name := range []string{"*", ".*"} {
				found, err := filepath.Glob(filepath.Join(out, name))
				if err != nil || name == "*" && len(found) != want || name == ".*" && len(found) > 0 {
					t.Errorf("%s: the folder has %v, %v", format, found, err)
				}
			}
		}
		run(t, export.Config{Source: f, Format: format, Out: out, Once: true})
		tables(7)
		after := uint64(100)
		if _, err := export.Run(t.Context(), export.Config{Source: f, Format: format, Out: out, After: &after}); err == nil || !strings.Contains(err.Error(), "choose another --out") {
			t.Errorf("%s: continued: %v", format, err)
		}
		tables(7)
		out = target(t, format)
		run(t, export.Config{Source: &feed{all: f.all[:50]}, Format: format, Out: out})
		after = 50
		run(t, export.Config{Source: f, Format: format, Out: out, After: &after, Once: true})
		tables(13) // no delivery has changed: no file of them is appended
	}
}

// TestEmptyWindow: a window without events names no position.
func TestEmptyWindow(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	f := newFeed(9)
	f.grow(100)
	late := export.Window{From: f.all[99].Time.Add(1)}
	for _, format := range append(folders, export.SQLite) {
		if s := run(t, export.Config{Source: f, Format: format, Out: target(t, format), Window: late}); s.Events != 0 || s.First != 0 || s.Last != 0 {
			t.Errorf("%s: %+v", format, s)
		}
	}
}

// TestFormulas: with the option, a text that a spreadsheet could run has an apostrophe before it,
// in CSV files and on stdout.
func TestFormulas(t *testing.T) {
	f := newFeed(9)
	f.grow(50)
	for i := range f.all {
		f.all[i].Actor = "＝actor"
	}
	for escape, want := range map[bool][2]string{false: {"=order, ", "＝actor"}, true: {"'=order, ", "'＝actor"}} {
		out := target(t, export.CSV)
		run(t, export.Config{Source: f, Format: export.CSV, Out: out, EscapeFormulas: escape})
		for _, row := range readBack(t, export.CSV, out, "payments") {
			if text := row["order_id"].(string); !strings.HasPrefix(text, want[0]) {
				t.Errorf("escape %v: %q", escape, text)
			}
		}
		var text bytes.Buffer
		run(t, export.Config{Source: f, Format: export.CSV, Stdout: &text, EscapeFormulas: escape})
		if rows := readCSV(t, text.Bytes(), "events"); rows[0]["actor"] != want[1] {
			t.Errorf("escape %v: %q", escape, rows[0]["actor"])
		}
	}
}

// TestInterrupted checks that an export whose context ends leaves no files.
func TestInterrupted(t *testing.T) {
	f := newFeed(13)
	f.grow(3_000)
	for _, format := range append(folders, export.SQLite) {
		ctx, cancel := context.WithCancel(t.Context())
		out := target(t, format)
		_, err := export.Run(ctx, export.Config{Source: f, Format: format, Out: out, Progress: func(done, _ uint64) {
			if done == 2_100 {
				cancel()
			}
		}})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", format, err)
		}
		checkNoHalfFile(t, out)
		run(t, export.Config{Source: f, Format: format, Out: out})
	}
}

// leaving is a feed that is interrupted after its last event and does not notice it.
type leaving struct {
	*feed
	interrupt func()
}

func (l leaving) Events(ctx context.Context, after uint64, handle func(e export.Event, newest uint64) error) error {
	defer l.interrupt()
	return l.feed.Events(ctx, after, handle)
}

// TestInterruptedAtTheEnd: an export to stdout that is interrupted has every event, or it fails.
func TestInterruptedAtTheEnd(t *testing.T) {
	f := newFeed(13)
	f.grow(300)
	for range 100 { // the last batch may be handed over before the interruption counts
		ctx, cancel := context.WithCancel(t.Context())
		s, err := export.Run(ctx, export.Config{Source: leaving{f, cancel}, Format: export.CSV, Stdout: io.Discard})
		if err == nil && s.Events != 300 || err != nil && !errors.Is(err, context.Canceled) {
			t.Fatalf("%d of 300 events, %v", s.Events, err)
		}
	}
}
