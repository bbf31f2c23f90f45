package projections

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"payledger/eventstore/benchlog"
	"payledger/projections/sqlitefile"
)

var benchPayments = flag.Int("rebuildpayments", 500, "number of payments in the log of BenchmarkRebuild, if it makes one")

// BenchmarkRebuild compares the rate of rows of a rebuild with the rate at which the same process upserts the same rows into an empty
// file of the same tables and indexes, in batches of maxBatch. heapMB is the largest heap at a batch's end. With -benchlog it reads
// the log in that folder.
func BenchmarkRebuild(b *testing.B) {
	store, ctx := benchlog.Open(b, *benchPayments), context.Background()
	n := startNode(b, store, b.TempDir())
	if err := n.CaughtUp(ctx); err != nil {
		b.Fatal(err)
	}
	var rebuilding, upserting time.Duration
	rows, heap := 0, uint64(0)
	for i := 0; b.Loop(); i++ {
		begin := time.Now()
		if err := n.Rebuild(ctx, func(uint64, uint64) {
			var m runtime.MemStats
			if i == 0 { // later the rows of the comparison are in memory
				runtime.ReadMemStats(&m)
				heap = max(heap, m.HeapInuse)
			}
		}); err != nil {
			b.Fatal(err)
		}
		rebuilding += time.Since(begin)
		all := map[string][][]any{}
		rows = 0
		for _, table := range []string{"payments", "sessions", "namings", "instruments"} {
			all[table] = tableRows(b, n.model, table)
			rows += len(all[table])
		}
		begin = time.Now()
		upsertRows(b, all)
		upserting += time.Since(begin)
	}
	b.ReportMetric(float64(store.Events()), "events")
	b.ReportMetric(float64(b.N)*float64(rows)/rebuilding.Seconds(), "rows/s")
	b.ReportMetric(float64(b.N)*float64(store.Events())/rebuilding.Seconds(), "events/s")
	b.ReportMetric(float64(b.N)*float64(rows)/upserting.Seconds(), "upserts/s")
	b.ReportMetric(upserting.Seconds()/rebuilding.Seconds(), "ratio")
	b.ReportMetric(float64(heap)/1e6, "heapMB")
}

// tableRows returns all rows of a table.
func tableRows(b *testing.B, m *model, table string) [][]any {
	b.Helper()
	rows, err := m.Readers().Query("SELECT * FROM " + table)
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		b.Fatal(err)
	}
	var all [][]any
	for rows.Next() {
		values, to := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			to[i] = &values[i]
		}
		if err := rows.Scan(to...); err != nil {
			b.Fatal(err)
		}
		all = append(all, values)
	}
	if err := rows.Err(); err != nil {
		b.Fatal(err)
	}
	return all
}

// upsertRows writes rows into a new file.
func upsertRows(b *testing.B, all map[string][][]any) {
	b.Helper()
	ctx := context.Background()
	m := openTestModel(b, filepath.Join(b.TempDir(), fileName), 1)
	defer mustClose(b, m)
	for table, rows := range all {
		if len(rows) == 0 {
			continue
		}
		var statement *sql.Stmt
		text := fmt.Sprintf("INSERT INTO %s VALUES (?%s) ON CONFLICT DO UPDATE SET account = excluded.account", table, strings.Repeat(", ?", len(rows[0])-1))
		if err := m.Prepare(ctx, map[**sql.Stmt]string{&statement: text}); err != nil {
			b.Fatal(err)
		}
		for len(rows) > 0 {
			batch := rows[:min(len(rows), maxBatch)]
			rows = rows[len(batch):]
			err := sqlitefile.WhenRoom(ctx, func() error {
				return m.Transact(ctx, func() error {
					for _, row := range batch {
						if _, err := statement.ExecContext(ctx, row...); err != nil {
							return err
						}
					}
					return nil
				})
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
