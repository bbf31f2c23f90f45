package audit

import (
	"context"
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"payledger/cmd/payledger/ledger"
	"payledger/cmd/payledger/options"
	"payledger/eventstore/benchlog"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/format"
	"payledger/eventstore/ordered"
	"payledger/projections/eventjson"
	"payledger/projections/export"
)

var benchPayments = flag.Int("exportpayments", 2000, "number of payments in the log of BenchmarkExport, if it makes one")

// BenchmarkExport exports the folder of a stopped server in each format. It compares the rate with
// the rates at which the same process reads the same events from the log and decodes them (read/s),
// and at which it also makes their JSON for analysts (feed/s). heapMB is the largest heap that was
// seen during the export. With -benchlog it exports the log in that folder. go test
// ./cmd/payledger/audit -run - -bench Export -benchtime 1x -exportpayments 100000
func BenchmarkExport(b *testing.B) {
	data := b.TempDir()
	if err := os.Symlink(benchlog.Dir(b, *benchPayments), filepath.Join(data, ledger.EventsFolder)); err != nil {
		b.Fatal(err)
	}
	o := options.Options{Data: data, MasterKey: hex.EncodeToString(eventstoretest.MasterKey[:])}
	for _, f := range []export.Format{export.JSONLines, export.CSV, export.Parquet, export.SQLite} {
		b.Run(string(f), func(b *testing.B) {
			var reading, feeding, exporting time.Duration
			var events, heap uint64
			for b.Loop() {
				reading += inFolder(b, o, func(ctx context.Context, l *ledger.Ledger) (err error) {
					events, err = ordered.New(l.Store).Read(ctx, 0, func(e ordered.Event) error {
						_, _, err := format.Generic(e.Recorded)
						return err
					})
					return err
				})
				feeding += inFolder(b, o, func(ctx context.Context, l *ledger.Ledger) error {
					return folderFeed{eventjson.NewFeed(l.Store)}.Events(ctx, 0, func(export.Event, uint64) error { return nil })
				})
				out := filepath.Join(b.TempDir(), "out")
				exporting += inFolder(b, o, func(ctx context.Context, l *ledger.Ledger) (err error) {
					heap = max(heap, eventstoretest.LargestHeap(func() {
						_, err = export.Run(ctx, export.Config{Source: folderFeed{eventjson.NewFeed(l.Store)}, Format: f, Out: out})
					}))
					return err
				})
				if err := os.RemoveAll(out); err != nil {
					b.Fatal(err)
				}
			}
			total := float64(b.N) * float64(events)
			b.ReportMetric(float64(events), "events")
			b.ReportMetric(total/exporting.Seconds(), "events/s")
			b.ReportMetric(total/reading.Seconds(), "read/s")
			b.ReportMetric(total/feeding.Seconds(), "feed/s")
			b.ReportMetric(reading.Seconds()/exporting.Seconds(), "ratio")
			b.ReportMetric(float64(heap)/1e6, "heapMB")
		})
	}
}

// inFolder opens the folder, and returns the time of use.
func inFolder(b *testing.B, o options.Options, use func(context.Context, *ledger.Ledger) error) (took time.Duration) {
	b.Helper()
	err := ledger.Read(b.Context(), o, func(l *ledger.Ledger) error {
		begin := time.Now()
		err := use(b.Context(), l)
		took = time.Since(begin)
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return took
}
