package statistics

import (
	"context"
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

// BenchmarkRead reads the statistics of a year of a busy merchant: each hour has 114 payments, of
// three currencies, six statuses and two processors, so that the year has 1,000,000.
func BenchmarkRead(b *testing.B) {
	const account, year = "6etnp6rapbqqp8m849ga1ph6tc", 366
	ctx := context.Background()
	file, err := sqlitefile.Open(ctx, filepath.Join(b.TempDir(), "file"), "benchmark", Tables+
		`CREATE TABLE disputes (account TEXT, created_at INTEGER, status TEXT); CREATE INDEX disputes_created ON disputes (account, created_at, status)`, zerolog.Nop())
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := file.Close(); err != nil {
			b.Error(err)
		}
	}()
	if err := file.Prepare(ctx, selectHour, upsertHour, deleteHour); err != nil {
		b.Fatal(err)
	}
	counter := NewCounter(file.Statements)
	first := DayOf(time.Date(2026, 3, 14, 0, 0, 0, 0, time.UTC))
	states := []payment.Status{payment.StatusSettled, payment.StatusSettled, payment.StatusDeclined, payment.StatusAuthorized, payment.StatusFailed, payment.StatusCancelled}
	err = file.Transact(ctx, func() error {
		for hour := first.First(); hour < (first + year).First(); hour++ {
			for n := range 114 {
				f := Facts{
					Hour: hour, Currency: []domain.Currency{"EUR", "USD", "GBP"}[n%3], Status: states[n/3%6], Processor: processor.Names[n%2], Network: []domain.Network{"VISA", "MASTERCARD"}[n/7%2],
					Country: []string{"DE", "FR", "US", "GB", "NL"}[n/5%5], Tries: int64(1+n/3%3) << (2 * (n % 2)), Amount: 12345, Captured: int64(n / 3 % 2 * 12345), Session: true,
				}
				if f.Status == payment.StatusDeclined {
					f.Reason = []string{"DO_NOT_HONOR", "INSUFFICIENT_FUNDS", "EXPIRED_CARD"}[n/4%3]
				}
				if err := counter.Payment(ctx, account, domain.PaymentID(fmt.Sprint(hour, n)), nil, f); err != nil {
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
		b.Fatal(err)
	}
	for _, days := range []int{30, year} {
		b.Run(fmt.Sprint(days), func(b *testing.B) {
			for b.Loop() {
				if _, err := Read(ctx, file.Readers(), account, Query{From: first + year - Day(days), To: first + year - 1}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
