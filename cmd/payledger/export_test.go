package main

import (
	"database/sql"
	"encoding/csv"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"payledger/eventstore/ordered"
)

// TestExport: a running server and the folder of the stopped one give the same tables, in each format; an appended export has the
// events since; a fault is one line (I1).
func TestExport(t *testing.T) {
	t.Parallel()
	dir, out := t.TempDir(), t.TempDir()
	app, stop := startToStop(t, testOptions(dir))
	m := newMerchant(app.api.URL, app.credentials.APIKey)
	pay := func(order string, card string) paymentAnswer {
		paid, err := m.pay(m.token(t, order, 2000, card), "")
		if err != nil {
			t.Fatal(err)
		}
		var p paymentAnswer
		paid.decode(t, &p)
		return p
	}
	captured := pay("order-1", "4111111111111111")
	m.must(t, http.MethodPost, "/payments/"+captured.ID+"/capture", m.headers(), map[string]any{"amount": 1500})
	m.must(t, http.MethodPost, "/payments/"+captured.ID+"/refund", m.headers(), map[string]any{"amount": 400})
	pay("order-2", "4000000000000002") // declined
	covered(t, app)
	export := func(args ...string) (int, string, string) {
		return invoke(t, append([]string{"export", "--url", m.api, "--api-key", m.key}, args...)...)
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
	last := before[len(before)-1][0]
	for _, format := range []string{"csv", "sqlite"} {
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
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	whole := filepath.Join(out, "whole.sqlite")
	if status, _, fault := invoke(t, "export", "--data", dir, "--format", "sqlite", "--out", whole); status != 0 {
		t.Fatalf("folder: status %d: %s", status, fault)
	}
	checkSums(t, whole)
	checkExamples(t, whole)
	account := string(app.credentials.AccountID)
	for _, query := range []string{
		"SELECT group_concat(id || position || hash) FROM (SELECT * FROM events WHERE account_id = '" + account + "' ORDER BY position)",
		"SELECT group_concat(id || status || amount_captured || amount_refunded) FROM (SELECT * FROM payments ORDER BY id)",
		"SELECT group_concat(position || line || ledger_account || debit || credit) FROM (SELECT * FROM entries ORDER BY position, line)",
	} {
		if live, folder := queried(t, filepath.Join(out, "sqlite"), query), queried(t, whole, query); live != folder || live == "" {
			t.Errorf("%s:\nserver %s\nfolder %s", query, live, folder)
		}
	}
}

// checkExamples runs the README's queries; each has an answer.
func checkExamples(t *testing.T, path string) {
	t.Helper()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(readme), "| question | query |\n|---|---|\n")
	examples := 0
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "`")
		if len(cells) != 3 {
			break
		}
		examples++
		if answer := queried(t, path, "SELECT count(*) FROM ("+cells[1]+")"); answer == "0" {
			t.Errorf("%s has no answer", cells[1])
		}
	}
	if examples != 6 {
		t.Errorf("the README has %d examples, expected 6", examples)
	}
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
func covered(t *testing.T, app *App) {
	t.Helper()
	if err := ordered.New(app.ledger.Store).Await(t.Context(), app.ledger.Store.Events()-1); err != nil {
		t.Fatal(err)
	}
}
