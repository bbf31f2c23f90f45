//go:build system

package load

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/apptest"
	"payledger/eventstore/eventstoretest"
)

// benchConnections is the concurrency of the benchmark.
var benchConnections = flag.Int("connections", 64, "how many connections BenchmarkCreate pays over")

// benchSlices is how many parts the benchmark's payments are made in. Before and after each the raw
// rates are measured, so that a machine that is faster at one time than at another is so for both.
const benchSlices = 6

// BenchmarkCreate pays with prepared tokens over -connections connections: client, service and
// simulator in one process. It reports payments/s and durable events/s of the log, beside raw
// durable publishes of the same mean size over as many connections in the same run: to one stream
// (what JetStream does by itself, "ratio") and to as many as the log has shards ("ratio-sharded").
func BenchmarkCreate(b *testing.B) {
	app := apptest.StartApp(b, apptest.TestOptions(b.TempDir()))
	m := apptest.NewMerchant(app.Ready().API, app.Credentials.APIKey)
	tokens := prepareTokens(b, m, b.N)
	raw := map[int]time.Duration{1: 0, app.Ledger.Store.Shards(): 0}
	rounds := 0
	measureRaw := func() {
		rounds++
		for streams := range raw {
			raw[streams] += rawTime(b, app, streams)
		}
	}
	var durations []time.Duration
	var events uint64
	var cpu time.Duration
	b.ResetTimer()
	for slice := range slices.Chunk(tokens, (len(tokens)+benchSlices-1)/benchSlices) {
		b.StopTimer()
		measureRaw()
		before, spent := apptest.Events(b, app), apptest.CPUTime(b)
		b.StartTimer()
		durations = append(durations, payAll(b, m, slice)...)
		if err := app.Views.CaughtUp(context.Background()); err != nil { // the payments' own work, not the raw rate's
			b.Fatal(err)
		}
		b.StopTimer()
		cpu, events = cpu+apptest.CPUTime(b)-spent, events+apptest.Events(b, app)-before
	}
	measureRaw()
	rate := float64(events) / b.Elapsed().Seconds()
	publishes := float64(rawPublishes * rounds)
	one, sharded := publishes/raw[1].Seconds(), publishes/raw[app.Ledger.Store.Shards()].Seconds()
	slices.Sort(durations)
	b.ReportMetric(float64(cpu.Microseconds())/float64(b.N), "cpu-us/payment")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "payments/s")
	b.ReportMetric(rate, "events/s")
	b.ReportMetric(one, "raw-events/s")
	b.ReportMetric(rate/one, "ratio")
	b.ReportMetric(sharded, "raw-sharded-events/s")
	b.ReportMetric(rate/sharded, "ratio-sharded")
	b.ReportMetric(float64(durations[len(durations)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(durations[len(durations)*99/100].Microseconds())/1000, "p99-ms")
}

// payAll makes one payment with each token, and gives how long each took.
func payAll(b *testing.B, m *apptest.Merchant, tokens []string) []time.Duration {
	b.Helper()
	durations := make([]time.Duration, len(tokens))
	var next atomic.Int64
	var running sync.WaitGroup
	for range *benchConnections {
		running.Go(func() {
			w, err := apptest.DialWire(m.API, m.Key)
			if err != nil {
				b.Error(err)
				return
			}
			defer w.Conn.Close()
			for i := next.Add(1) - 1; i < int64(len(tokens)); i = next.Add(1) - 1 {
				start := time.Now()
				status, err := w.Pay(tokens[i], "bench-"+tokens[i])
				if err != nil || status != 200 {
					b.Errorf("create answered %d %v", status, err)
					return
				}
				durations[i] = time.Since(start)
			}
		})
	}
	running.Wait()
	return durations
}

func prepareTokens(b *testing.B, m *apptest.Merchant, n int) []string {
	b.Helper()
	tokens := make([]string, n)
	var next atomic.Int64
	var running sync.WaitGroup
	for range *benchConnections {
		running.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				tokens[i] = m.Token(b, fmt.Sprintf("order-%d", i), 2500, "4111111111111111")
			}
		})
	}
	running.Wait()
	if b.Failed() {
		b.FailNow()
	}
	return tokens
}

// rawPublishes is how many messages one measurement of the raw rate takes.
const rawPublishes = 5_000

// rawTime measures durable publishes of an event's size on a server of its own on the same disk,
// over as many connections, to a number of streams.
func rawTime(b *testing.B, app *app.App, streams int) time.Duration {
	b.Helper()
	log, err := app.Ledger.Store.Size(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	size := log.EventBytes
	raw := eventstoretest.MeasureYardstick(b, streams, *benchConnections, rawPublishes, size)
	b.ReportMetric(float64(size), "event-bytes")
	return time.Duration(rawPublishes / raw.PerSecond * float64(time.Second))
}
