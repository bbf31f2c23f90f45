package compare

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/attempt"
	"payledger/domain/dispute"
	"payledger/domain/inbox"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/domain/person"
	"payledger/domain/processor"
	_ "payledger/domain/scratchtest"
	"payledger/domain/seedtest"
	"payledger/domain/session"
	"payledger/domain/workflow"
	"payledger/eventstore"
	"payledger/eventstore/format"
	"payledger/eventstore/verify"
	"payledger/projections"
	"payledger/projections/sqlitefile"
	"payledger/projections/statistics"
)

var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// newest returns the newest state of one aggregate for each table, and of a second payment and a
// second run with other empty columns.
func newest() []verify.Newest {
	all := []verify.Newest{
		{Key: eventstore.Payments.Key("acct", "pay1"), State: payment.State{
			ID: "pay1", Revision: 3, CreatedAt: began, UpdatedAt: began.Add(time.Second), OrderID: "order", CustomerID: "customer", Session: "session",
			Currency: "EUR", Amount: 1000, EmailHash: "hash", Method: payment.Method{Type: "PAYMENT_CARD"},
			Operations: []payment.Operation{{
				Revision: 1, Kind: processor.Authorize, State: payment.StateRequested, RequestedAt: began, Target: payment.Target{Processor: "ADYEN", MerchantID: "m"},
			}},
		}},
		{Key: eventstore.Payments.Key("acct", "pay2"), State: payment.State{ID: "pay2", Revision: 3, CreatedAt: began, UpdatedAt: began}},
		{Key: eventstore.Sessions.Key("acct", "session"), State: session.State{ExpiresAt: began}},
		{Key: eventstore.Instruments.Key("acct", "token"), State: instrument.State{Type: instrument.MultiUse, CreatedAt: began, CustomerID: "customer"}},
		{Key: eventstore.Attempts.Key("acct", "attempt"), State: attempt.State{Decision: "APPROVED", DecidedAt: began}},
		{Key: eventstore.Disputes.Key("acct", "dispute"), State: dispute.State{
			CreatedAt: began, Subject: dispute.Subject{Payment: "pay1", OrderID: "order", Processor: "ADYEN", ProcessorDisputeID: "foreign"},
			Current: dispute.Fact{Type: "CHARGEBACK", Status: "OPENED", ReasonCode: "10.4"},
		}},
		{Key: eventstore.Inboxes.Key("acct", "inbox"), State: inbox.State{
			Notifications: []inbox.Notification{{Processor: "ADYEN", Outcome: inbox.Waiting, ReceivedAt: began}},
		}},
		{Key: eventstore.WorkflowRuns.Key("acct", "run1"), State: workflow.RunState{
			StartedAt: began, UpdatedAt: began, Workflow: workflow.Ref{ID: "workflow"}, Condition: workflow.Evaluation{Holds: true},
			Steps: []workflow.Step{{State: workflow.StepOpen}},
		}},
		{Key: eventstore.WorkflowRuns.Key("acct", "run2"), State: workflow.RunState{StartedAt: began, UpdatedAt: began}},
		{Key: eventstore.Persons.Key("acct", "person"), State: person.State{Account: "acct", CustomerID: "gone", Session: "session", Erased: 2, ErasedAt: began, Destroyed: 1}},
		{Key: eventstore.Accounts.Key("acct", "acct"), State: account.State{ID: "acct"}},
	}
	for i := range all {
		all[i].Stream, all[i].Seq, all[i].Revision = "LEDGER_0_1", format.At(uint64(i+1), 0), 3
	}
	return all
}

// last returns the newest event of the log.
func last() *eventstore.Recorded {
	all := newest()
	return &eventstore.Recorded{Key: all[len(all)-1].Key, Seq: all[len(all)-1].Seq, Number: 40, Hash: format.Hash{1, 2, 3}}
}

// views projects the log into a file, and returns the file's bytes.
func views(t testing.TB) []byte {
	t.Helper()
	ctx, path := context.Background(), filepath.Join(t.TempDir(), projections.FileName)
	file, err := sqlitefile.Open(ctx, path, projections.Identity(1), projections.Tables, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	insert := func(table string, columns []string, values ...any) {
		t.Helper()
		query := fmt.Sprintf("INSERT INTO %s (%s) VALUES (?%s)", table, strings.Join(columns, ", "), strings.Repeat(", ?", len(columns)-1))
		if _, err := file.Writer().ExecContext(ctx, query, values...); err != nil {
			t.Fatal(table, err)
		}
	}
	seen := map[string]bool{}
	if err := file.Prepare(ctx, statistics.Statements()...); err != nil {
		t.Fatal(err)
	}
	counter := statistics.NewCounter(file.Statements)
	for _, n := range newest() {
		count(t, counter, n)
		row, is := projections.RowOf(n.Key, n.Shard, n.Seq, n.Revision, n.State)
		if !is || row.Values == nil {
			t.Fatalf("%s has no row", n.Key)
		}
		seen[row.Table] = true
		insert(row.Table, tables[row.Table].columns, row.Values...)
	}
	if len(seen) != len(tables) {
		t.Fatalf("rows of %v", seen)
	}
	if err := counter.Write(ctx); err != nil {
		t.Fatal(err)
	}
	end := last()
	insert("positions", []string{"shard", "seq", "number", "hash"}, 0, int64(end.Seq), int64(end.Number), end.Hash[:])
	return closed(t, file, path)
}

// count counts an aggregate in the statistics, as the projections do.
func count(t testing.TB, counter *statistics.Counter, n verify.Newest) {
	t.Helper()
	var err error
	switch s := n.State.(type) {
	case payment.State:
		err = counter.Payment(t.Context(), n.Key.Account, domain.PaymentID(n.Key.ID), nil, statistics.FactsOf(&s))
	case session.State:
		err = counter.Session(t.Context(), n.Key.Account, s.CreatedAt)
	case instrument.State:
		err = counter.Card(t.Context(), n.Key.Account, s.CreatedAt)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// closed closes a file and returns its bytes.
func closed(t testing.TB, file interface{ Close() error }, path string) []byte {
	t.Helper()
	b, err := []byte(nil), file.Close()
	if err == nil {
		b, err = os.ReadFile(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// changed returns a copy of a file after a change; nil if the file's schema forbids the change.
func changed(t testing.TB, file []byte, change string) *sql.DB {
	t.Helper()
	path := filepath.Join(t.TempDir(), "copy")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if change == "" {
		return db
	}
	result, err := db.ExecContext(context.Background(), change)
	if err != nil && strings.Contains(err.Error(), "constraint") {
		return nil
	}
	if err != nil {
		t.Fatal(change, err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		t.Fatalf("%s: %d rows changed, %v", change, n, err)
	}
	return db
}

// differs changes a file, and checks that the comparison reports a fault with a text.
func differs(t *testing.T, file []byte, faults func(testing.TB, *sql.DB) []string, want, remedy, change string) {
	t.Helper()
	db := changed(t, file, change)
	if db == nil {
		return
	}
	all := faults(t, db)
	if !slices.ContainsFunc(all, func(f string) bool { return strings.Contains(f, want) && strings.Contains(f, remedy) }) {
		t.Errorf("%s: %q does not have %q", change, all, want)
	}
}

// faults compares a file with the log, and returns the reported faults.
func faults(t testing.TB, file *sql.DB) (all []string) { return against(t, file, newest()) }

// against compares a file with a log that has some newest states.
func against(t testing.TB, file *sql.DB, states []verify.Newest) (all []string) {
	t.Helper()
	ctx := context.Background()
	report := func(f verify.Fault) error { all = append(all, f.String()); return nil }
	c, err := Stopped(ctx, file, report)
	if err != nil {
		return []string{err.Error()}
	}
	for _, n := range states {
		if n.Seq <= c.End(n.Shard) {
			err = errors.Join(err, c.Add(ctx, n))
		}
	}
	if end := last(); c.End(0) == end.Seq {
		err = errors.Join(err, c.Shown(end))
	}
	if err = errors.Join(err, c.Finish(ctx)); err != nil {
		t.Fatal(err)
	}
	return all
}

// wrongValues returns statements that change a column: to another value, to the same value of
// another type, and to NULL.
func wrongValues(table, column string) []string {
	update := "UPDATE " + table + " SET " + column + " = "
	return []string{
		update + "CASE WHEN typeof(" + column + ") = 'text' THEN " + column + " || 'x' ELSE coalesce(" + column + ", 6) + 1 END",
		update + "CAST(" + column + " AS BLOB) WHERE " + column + " IS NOT NULL",
		update + "NULL WHERE " + column + " IS NOT NULL",
	}
}

// TestEveryColumn: for any column of any table the comparison finds a wrong value, the right value
// of a wrong type, and a NULL. It also finds a missing row, an extra row, and a wrong position.
func TestEveryColumn(t *testing.T) {
	t.Parallel()
	file := views(t)
	if all := faults(t, changed(t, file, "")); len(all) > 0 {
		t.Fatalf("a whole file: %q", all)
	}
	check := func(want, change string) {
		t.Helper()
		differs(t, file, faults, want, "views.sqlite", change)
	}
	for name, table := range tables {
		for i, column := range table.columns {
			want := " as " + column + " of " + name
			if i == 0 {
				want = "have no row of it in " + name
			}
			for kind, change := range wrongValues(name, column) {
				if seedtest.Sampled() && kind != i%3 {
					continue
				}
				check(want, change)
			}
		}
		check("have no row of it in "+name, "DELETE FROM "+name)
		copied := "'other', " + strings.Join(table.columns[1:], ", ")
		check("the views have 1 rows of "+name, "INSERT INTO "+name+" ("+strings.Join(table.columns, ", ")+") SELECT "+copied+" FROM "+name+" LIMIT 1")
	}
	check("the position of shard 0 in the views has another", "UPDATE positions SET hash = randomblob(32)")
	check("the position of shard 0 in the views has another", "UPDATE positions SET number = number - 1")
	check("the position of shard 0 in the views is no event", "UPDATE positions SET seq = seq + 1")
	check("the position of shard 7 in the views is no event", "UPDATE positions SET shard = 7")
	check("its tables and indexes are other ones", "DROP INDEX payments_email; UPDATE accounts SET id = id")
	check("the blocks of the views", "INSERT INTO block_columns VALUES (1, x'00')")
	check("the statistics of the views are wrong: the counts of account acct in the hour from 2026-03-01", "UPDATE statistics SET counts = x'026701020e'")
	check("the statistics of the views are wrong", "DELETE FROM statistics")
}
