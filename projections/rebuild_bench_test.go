package projections

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/eventstore"
	"payledger/eventstore/benchlog"
	"payledger/eventstore/eventstoretest"
	"payledger/projections/sqlitefile"
)

var benchPayments = flag.Int("rebuildpayments", 500, "number of payments in the log of BenchmarkRebuild, if it makes one")

// BenchmarkRebuild compares the rate of rows of a rebuild with the rate at which the same process
// upserts the same rows into an empty file of the same tables and indexes, in batches of maxBatch
// and in the order of their times. heapMB is the largest heap during the rebuild, including the
// server's. With -benchlog the benchmark reads the log in that folder.
func BenchmarkRebuild(b *testing.B) {
	store, ctx := benchlog.Open(b, *benchPayments), context.Background()
	p, err := Open(ctx, Config{
		Dir: b.TempDir(), Store: store, Fanout: eventstore.NewFanout(store), Secrets: eventstoretest.Secrets(b, store), Logger: zerolog.Nop(), Now: time.Now,
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := p.Close(); err != nil {
			b.Error(err)
		}
	})
	var rebuilding, upserting time.Duration
	rows, heap := 0, uint64(0)
	for b.Loop() {
		begin := time.Now()
		heap = max(heap, eventstoretest.LargestHeap(func() {
			if err := p.Rebuild(ctx, nil); err != nil {
				b.Fatal(err)
			}
		}))
		rebuilding += time.Since(begin)
		n, took := upsertAgain(b, p.model)
		rows = n
		upserting += took
	}
	b.ReportMetric(float64(store.Events()), "events")
	b.ReportMetric(float64(b.N)*float64(rows)/rebuilding.Seconds(), "rows/s")
	b.ReportMetric(float64(b.N)*float64(store.Events())/rebuilding.Seconds(), "events/s")
	b.ReportMetric(float64(b.N)*float64(rows)/upserting.Seconds(), "upserts/s")
	b.ReportMetric(upserting.Seconds()/rebuilding.Seconds(), "ratio")
	b.ReportMetric(float64(heap)/1e6, "heapMB")
}

// upsertAgain upserts the rows of a model into a new file, a batch of all tables at a time, and
// returns their number and the time of the upserts alone.
func upsertAgain(b *testing.B, of *model) (rows int, took time.Duration) {
	b.Helper()
	ctx := context.Background()
	m := openTestModel(b, filepath.Join(b.TempDir(), FileName), 1)
	defer mustClose(b, m)
	var tables []*upserted
	total := 0
	for name, time := range map[string]string{"payments": "rowid", "sessions": "expires_at", "namings": "since", "instruments": "created_at"} {
		t := &upserted{}
		if err := of.Readers().QueryRow("SELECT count(*) FROM " + name).Scan(&t.count); err != nil {
			b.Fatal(err)
		}
		all, err := of.Readers().Query("SELECT * FROM " + name + " ORDER BY " + time) //nolint:rowserrcheck // read checks it
		if err != nil {
			b.Fatal(err)
		}
		defer all.Close()
		columns, err := all.Columns()
		if err != nil {
			b.Fatal(err)
		}
		t.rows, t.columns = all, len(columns)
		text := fmt.Sprintf("INSERT INTO %s VALUES (?%s) ON CONFLICT DO UPDATE SET account = excluded.account", name, strings.Repeat(", ?", len(columns)-1))
		if err := m.Prepare(ctx, text); err != nil {
			b.Fatal(err)
		}
		t.upsert = m.Statements[text]
		tables, total = append(tables, t), total+t.count
	}
	for rows < total {
		for _, t := range tables {
			t.read(b, t.count*maxBatch/total+1)
			rows += len(t.batch)
		}
		begin := time.Now()
		err := sqlitefile.WhenRoom(ctx, func() error {
			return m.Transact(ctx, func() error {
				for _, t := range tables {
					for _, row := range t.batch {
						if _, err := t.upsert.ExecContext(ctx, row...); err != nil {
							return err
						}
					}
				}
				return nil
			})
		})
		if took += time.Since(begin); err != nil {
			b.Fatal(err)
		}
	}
	return rows, took
}

// upserted is a table whose rows are upserted again.
type upserted struct {
	count   int
	rows    *sql.Rows
	columns int
	upsert  *sql.Stmt
	batch   [][]any
}

// read reads the next rows of a table, at most n.
func (t *upserted) read(b *testing.B, n int) {
	b.Helper()
	t.batch = t.batch[:0]
	for len(t.batch) < n && t.rows.Next() {
		values, to := make([]any, t.columns), make([]any, t.columns)
		for i := range values {
			to[i] = &values[i]
		}
		if err := t.rows.Scan(to...); err != nil {
			b.Fatal(err)
		}
		t.batch = append(t.batch, values)
	}
	if err := t.rows.Err(); err != nil {
		b.Fatal(err)
	}
}
