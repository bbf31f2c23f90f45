//go:build system

package kills

import (
	"database/sql"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/apptest"
	"payledger/eventstore/ordered"
	"payledger/httpapi/docs/docstest"
)

// TestExport: a running server and the folder of the stopped one give the same tables, in each
// format; an appended export has the events since; a fault is one line (I1).
func TestExport(t *testing.T) {
	t.Parallel()
	dir, out := t.TempDir(), t.TempDir()
	app, stop := apptest.StartToStop(t, apptest.TestOptions(dir))
	m := apptest.NewMerchant(app.API.URL, app.Credentials.APIKey)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	var endpoint struct{ ID string }
	m.Must(t, http.MethodPost, "/management/webhook-endpoints", m.Headers(), map[string]any{"url": server.URL, "eventTypes": []string{"PAYMENT.STATUS"}}).Decode(t, &endpoint)
	pay := func(order string, card string) apptest.PaymentAnswer {
		paid, err := m.Pay(m.Token(t, order, 2000, card), "")
		if err != nil {
			t.Fatal(err)
		}
		var p apptest.PaymentAnswer
		paid.Decode(t, &p)
		return p
	}
	captured := pay("order-1", "4111111111111111")
	m.Must(t, http.MethodPost, "/payments/"+captured.ID+"/capture", m.Headers(), map[string]any{"amount": 1500})
	m.Must(t, http.MethodPost, "/payments/"+captured.ID+"/refund", m.Headers(), map[string]any{"amount": 400})
	pay("order-2", "4000000000000002") // declined
	covered(t, app)
	apptest.AllSucceeded(t, m, endpoint.ID, 3) // AUTHORIZED, SETTLED and DECLINED
	export := func(args ...string) (int, string, string) {
		return apptest.Invoke(t, append([]string{"export", "--url", m.API, "--api-key", m.Key}, args...)...)
	}
	for _, format := range []string{"csv", "jsonl", "parquet", "sqlite"} {
		target := filepath.Join(out, format)
		if status, text, fault := export("--format", format, "--out", target); status != 0 || !strings.Contains(text, "Append later events with --after") {
			t.Fatalf("%s: status %d: %s%s", format, status, text, fault)
		}
	}
	before := exported(t, filepath.Join(out, "csv"), "events*")
	pay("order-3", "4111111111111111")
	covered(t, app)
	apptest.AllSucceeded(t, m, endpoint.ID, 4)
	last := before[len(before)-1][0]
	for _, format := range []string{"csv", "parquet", "sqlite"} {
		if status, _, fault := export("--format", format, "--out", filepath.Join(out, format), "--after", last); status != 0 {
			t.Fatalf("append %s: status %d: %s", format, status, fault)
		}
	}
	for _, fault := range []struct {
		status int
		text   string
		args   []string
	}{
		{1, "append with --after", []string{"--format", "csv", "--out", filepath.Join(out, "csv")}},
		{2, "--format parquet needs --out", []string{"--format", "parquet"}},
		{2, "--from", []string{"--format", "csv", "--from", "yesterday"}},
		{2, "leave one of them out", []string{"--format", "csv", "--after", "1", "--to", "2026-01-01"}},
		{1, "not a directory", []string{"--format", "csv", "--out", "/dev/null/x"}},
	} {
		if status, _, text := export(fault.args...); status != fault.status || !strings.Contains(text, fault.text) || strings.Count(text, "\n") != 1 {
			t.Errorf("%v: status %d: %s", fault.args, status, text)
		}
	}
	checkSums(t, filepath.Join(out, "sqlite"))
	if !testing.Short() {
		checkDuckDB(t, filepath.Join(out, "parquet"), filepath.Join(out, "sqlite"))
		if status, _, fault := export("--format", "parquet", "--out", filepath.Join(out, "full")); status != 0 {
			t.Fatalf("full: status %d: %s", status, fault)
		}
		checkHyparquet(t, filepath.Join(out, "parquet"), filepath.Join(out, "full"))
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	whole := filepath.Join(out, "whole.sqlite")
	if status, _, fault := apptest.Invoke(t, "export", "--data", dir, "--format", "sqlite", "--out", whole); status != 0 {
		t.Fatalf("folder: status %d: %s", status, fault)
	}
	checkSums(t, whole)
	checkExamples(t, whole)
	for _, table := range []string{"events", "payments", "transactions", "refunds", "disputes", "deliveries", "entries"} { // the folder has the system's events, too
		query := "SELECT * FROM " + table + " WHERE account_id = '" + string(app.Credentials.AccountID) + "' ORDER BY 1, 2"
		live, folder := rowsOf(t, filepath.Join(out, "sqlite"), query), rowsOf(t, whole, query)
		if live != folder || live == "" && table != "disputes" {
			t.Errorf("%s:\nserver %s\nfolder %s", table, live, folder)
		}
	}
}

// checkExamples runs the guide's queries; each has an answer.
func checkExamples(t *testing.T, path string) {
	t.Helper()
	for _, query := range examples(t) {
		if answer := queried(t, path, "SELECT count(*) FROM ("+query+")"); answer == "0" {
			t.Errorf("%s has no answer", query)
		}
	}
}

// checkDuckDB compares the answers of DuckDB to the guide's queries, from a folder of Parquet
// files, with those of SQLite.
func checkDuckDB(t *testing.T, dir, sqlite string) {
	t.Helper()
	var queries []string
	for _, query := range examples(t) {
		queries = append(queries, "SELECT * FROM ("+query+") ORDER BY ALL")
	}
	answers, there := apptest.DuckAnswers(t, dir, queries)
	if !there {
		return
	}
	for i, query := range examples(t) {
		if found, expected := rowsIn(t, answers[i]), rowsIn(t, rowsOf(t, sqlite, query)); !slices.EqualFunc(found, expected, sameCell) {
			t.Errorf("%s:\nDuckDB %v\nSQLite %v", query, found, expected)
		}
	}
}

// checkHyparquet compares the newest rows of a folder with increments with those of a full export,
// as hyparquet reads both.
func checkHyparquet(t *testing.T, increments, full string) {
	t.Helper()
	found, there, err := apptest.HyparquetRows(t, increments)
	if !there {
		return
	}
	expected, _, err2 := apptest.HyparquetRows(t, full)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	for table, rows := range expected {
		if got, expected := apptest.NewestRows(t, table, found[table]), apptest.NewestRows(t, table, rows); !slices.Equal(got, expected) {
			t.Errorf("%s: the increments have\n%s\nand a full export\n%s", table, strings.Join(got, "\n"), strings.Join(expected, "\n"))
		}
	}
	if tables := len(expected); tables != 6 || len(expected["events"]) < 10 {
		t.Errorf("hyparquet reads %d tables with rows", tables)
	}
}

// examples returns the guide's queries.
func examples(t *testing.T) (queries []string) {
	t.Helper()
	_, table, _ := strings.Cut(docstest.Read(t, docstest.Guides+"analysts.md"), "| question | query |\n|---|---|\n")
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "`")
		if len(cells) != 3 {
			break
		}
		queries = append(queries, cells[1])
	}
	if len(queries) != 8 {
		t.Errorf("the guide has %d examples, expected 8", len(queries))
	}
	return queries
}

// rowsOf returns the rows of a query as a line of JSON.
func rowsOf(t *testing.T, path, query string) string {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	all := [][]any{}
	for rows.Next() {
		row, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		all = append(all, row)
	}
	text, err := json.Marshal(all)
	if err != nil || rows.Err() != nil {
		t.Fatal(err, rows.Err())
	}
	return string(text)
}

// rowsIn returns the cells of all rows, sorted by row: days without a time.
func rowsIn(t *testing.T, text string) (cells []any) {
	t.Helper()
	var rows [][]any
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	slices.SortFunc(rows, func(a, b []any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	for _, row := range rows {
		cells = append(cells, row...)
	}
	return cells
}

// sameCell reports whether two databases gave the same value: SQLite counts times in milliseconds,
// DuckDB in microseconds.
func sameCell(a, b any) bool {
	x, isNumber := a.(float64)
	if y, both := b.(float64); isNumber && both {
		return math.Abs(x-y) < 0.002
	}
	day := func(v any) string { return strings.TrimSuffix(fmt.Sprint(v), "T00:00:00Z") }
	return day(a) == day(b)
}

// checkSums compares the postings with the three payments of the test.
func checkSums(t *testing.T, path string) {
	t.Helper()
	const sums = "SELECT group_concat(ledger_account || ' ' || balance) FROM (SELECT ledger_account, sum(debit) - sum(credit) AS balance FROM entries GROUP BY 1 ORDER BY 1)"
	const expected = "authorizations -2000,holds 2000,receivable 1100,refunds 400,sales -1500"
	if found := queried(t, path, sums); found != expected {
		t.Errorf("the postings' sums are %s, expected %s", found, expected)
	}
}

// queried returns the one value of a query.
func queried(t *testing.T, path, query string) (value string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRowContext(t.Context(), query).Scan(&value); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return value
}

// exported returns the records of a table's CSV files, without their headers.
func exported(t *testing.T, dir, table string) (rows [][]string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, table+".csv"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files of %s: %v", table, err)
	}
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		records, err := csv.NewReader(file).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, records[1:]...)
		file.Close()
	}
	return rows
}

// covered waits until every event has a position.
func covered(t *testing.T, app *app.App) {
	t.Helper()
	if err := ordered.New(app.Ledger.Store).Await(t.Context(), app.Ledger.Store.Events()-1); err != nil {
		t.Fatal(err)
	}
}
