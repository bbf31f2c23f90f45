//go:build system

package clusters

import (
	"errors"
	"flag"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/ledger"
	"payledger/eventstore/clustertest"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
)

var joinedPayments = flag.Int("joinpayments", 250, "how many payments the cluster of BenchmarkJoin holds")

// BenchmarkJoin measures how long a node with an empty folder takes until it is ready, on a cluster
// of three NATS servers in the same process: the rate of the whole, and that of the tip store
// alone, which it makes first. The figures of deploy/SCALING.md are of
//
//	go test -tags system ./cmd/payledger/systemtest/clusters -run - -bench Join -benchtime 1x -joinpayments 12500
func BenchmarkJoin(b *testing.B) {
	url := clustertest.Start(b, 3, nil).Formed(b).URL(clustertest.User)
	made := apptest.InitCluster(b, url)
	o := apptest.TestOptions(b.TempDir())
	o.NatsURL, o.MasterKey = url, made.MasterKey
	open := func() *ledger.Ledger {
		l, err := ledger.Open(b.Context(), o, ledger.Existing, engine.Config{Logger: zerolog.Nop()})
		if err != nil {
			b.Fatal(err)
		}
		return l
	}
	l := open()
	_, err := eventstoretest.Generate(b.Context(), l.Store, made.AccountID, *joinedPayments, 256)
	events := l.Store.Events()
	if err := errors.Join(err, l.Close()); err != nil {
		b.Fatal(err)
	}
	var whole, tips time.Duration
	for b.Loop() {
		o.Data = b.TempDir()
		began := time.Now()
		l := open()
		tips += time.Since(began)
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
		o.Data = b.TempDir()
		began = time.Now()
		app, err := app.Start(b.Context(), o, zerolog.Nop())
		if err != nil {
			b.Fatal(err)
		}
		whole += time.Since(began)
		if done, of := app.Views.Progress(); done != of || of < events {
			b.Fatalf("ready with %d of %d events", done, of)
		}
		for name, size := range apptest.OnDisk(b, o.Data) {
			b.Logf("%6d bytes a payment: %s", size/int64(*joinedPayments), name)
		}
		if err := app.Stop(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(events), "events")
	b.ReportMetric(float64(b.N)*float64(events)/whole.Seconds(), "events/s")
	b.ReportMetric(float64(b.N)*float64(events)/tips.Seconds(), "tips-events/s")
}
