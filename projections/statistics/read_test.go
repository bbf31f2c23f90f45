package statistics

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/projections/sqlitefile"
)

const testAccount = "6etnp6rapbqqp8m849ga1ph6tc"

var firstDay = DayOf(time.Date(2026, 3, 14, 0, 0, 0, 0, time.UTC))

// openYear makes a file with the counts of some days of a busy merchant, from firstDay on. Each
// hour has payments of three currencies, six statuses and two processors.
func openYear(tb testing.TB, days Day, perHour int) *sqlitefile.File {
	tb.Helper()
	ctx := context.Background()
	file, err := sqlitefile.Open(ctx, filepath.Join(tb.TempDir(), "file"), "test", Tables+
		`CREATE TABLE disputes (account TEXT, created_at INTEGER, status TEXT); CREATE INDEX disputes_created ON disputes (account, created_at, status)`, zerolog.Nop())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := file.Close(); err != nil {
			tb.Error(err)
		}
	})
	if err := file.Prepare(ctx, selectSpan, upsertSpan, deleteSpan); err != nil {
		tb.Fatal(err)
	}
	counter := NewCounter(file.Statements)
	err = file.Transact(ctx, func() error {
		for hour := firstDay.First(); hour < (firstDay + days).First(); hour++ {
			for n := range perHour {
				if err := counter.Payment(ctx, testAccount, domain.PaymentID(fmt.Sprint(hour, n)), nil, factsOf(hour, n)); err != nil {
					return err
				}
			}
			if err := counter.Write(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return file
}

// factsOf returns the facts of one of the payments of an hour.
func factsOf(hour Hour, n int) Facts {
	f := Facts{
		Hour: hour, Currency: []domain.Currency{"EUR", "USD", "GBP"}[n%3],
		Status: []payment.Status{
			payment.StatusSettled, payment.StatusSettled, payment.StatusDeclined, payment.StatusAuthorized, payment.StatusFailed, payment.StatusCancelled,
		}[n/3%6],
		Processor: processor.Names[n%2], Network: []domain.Network{"VISA", "MASTERCARD"}[n/7%2], Country: []string{"DE", "FR", "US", "GB", "NL"}[n/5%5],
		Tries: int64(1+n/3%3) << (2 * (n % 2)), Amount: 12345, Captured: int64(n / 3 % 2 * 12345), Session: true,
	}
	if f.Status == payment.StatusDeclined {
		f.Reason = []string{"DO_NOT_HONOR", "INSUFFICIENT_FUNDS", "EXPIRED_CARD"}[n/4%3]
	}
	return f
}

// TestRowsOfReport: a report without hours reads one row for each day, and none of an hour. One
// with hours reads only those. Both have the same counts.
func TestRowsOfReport(t *testing.T) {
	t.Parallel()
	const days = 40
	file := openYear(t, days, 20)
	report := func(hourly bool) string {
		t.Helper()
		r, err := Read(t.Context(), file.Readers(), testAccount, Query{From: firstDay, To: firstDay + days - 1, Hourly: hourly})
		if err != nil {
			t.Fatal(err)
		}
		r.ByHour = nil
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	run := func(text string) (rows int64) {
		t.Helper()
		done, err := file.Writer().ExecContext(t.Context(), text)
		if err == nil {
			rows, err = done.RowsAffected()
		}
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	want := report(false)
	if got := report(true); got != want {
		t.Errorf("from the hours %s\nfrom the days  %s", got, want)
	}
	run("CREATE TABLE kept AS SELECT * FROM statistics")
	if n := run("DELETE FROM statistics WHERE daily"); n != days {
		t.Errorf("%d rows of days, want %d", n, days)
	}
	if got := report(true); got != want {
		t.Errorf("the report of hours reads days, too: %s", got)
	}
	run("DELETE FROM statistics")
	run("INSERT INTO statistics SELECT * FROM kept WHERE daily")
	if got := report(false); got != want {
		t.Errorf("the report of days reads hours, too: %s", got)
	}
}

// BenchmarkRead reads the statistics of a year of a busy merchant: each hour has 114 payments, so
// that the year has 1,000,000.
func BenchmarkRead(b *testing.B) {
	const year = 366
	file := openYear(b, year, 114)
	for _, q := range []Query{{From: firstDay + year - 30, To: firstDay + year - 1}, {From: firstDay + year - 31, To: firstDay + year - 1, Hourly: true}, {From: firstDay, To: firstDay + year - 1}} {
		b.Run(fmt.Sprintf("%d,hourly=%v", q.To-q.From+1, q.Hourly), func(b *testing.B) {
			for b.Loop() {
				if _, err := Read(context.Background(), file.Readers(), testAccount, q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
