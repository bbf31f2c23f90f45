package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// benchConnections is the concurrency of the benchmark.
const benchConnections = 64

// BenchmarkCreate pays with prepared tokens over 64 connections: client, service and simulator in one
// process. It reports payments/s, durable events/s of the log, the raw rate of durable publishes of the
// same size in the same run, and the ratio of the two.
func BenchmarkCreate(b *testing.B) {
	app := startApp(b, testOptions(b.TempDir()))
	m := newMerchant(app.ready().API, app.credentials.APIKey)
	tokens := prepareTokens(b, m, b.N)
	raw := rawRate(b, app)
	before := app.events(b)
	durations := make([]time.Duration, b.N)
	var next atomic.Int64
	var running sync.WaitGroup
	b.ResetTimer()
	for range benchConnections {
		running.Go(func() {
			for i := next.Add(1) - 1; i < int64(b.N); i = next.Add(1) - 1 {
				start := time.Now()
				got, err := m.pay(tokens[i], fmt.Sprintf("bench-%d", i))
				if err != nil || got.status != 200 {
					b.Errorf("create answered %d %s %v", got.status, got.body, err)
					return
				}
				durations[i] = time.Since(start)
			}
		})
	}
	running.Wait()
	b.StopTimer()
	seconds := b.Elapsed().Seconds()
	events := float64(app.events(b)-before) / seconds
	raw = (raw + rawRate(b, app)) / 2
	slices.Sort(durations)
	b.ReportMetric(float64(b.N)/seconds, "payments/s")
	b.ReportMetric(events, "events/s")
	b.ReportMetric(raw, "raw-events/s")
	b.ReportMetric(events/raw, "ratio")
	b.ReportMetric(float64(durations[len(durations)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(durations[len(durations)*99/100].Microseconds())/1000, "p99-ms")
}

func prepareTokens(b *testing.B, m *merchant, n int) []string {
	b.Helper()
	tokens := make([]string, n)
	var next atomic.Int64
	var running sync.WaitGroup
	for range benchConnections {
		running.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				tokens[i] = m.token(b, fmt.Sprintf("order-%d", i), 2500, "4111111111111111")
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
const rawPublishes = 20_000

// rawRate measures durable publishes of an event's size on the same server, over as many connections.
func rawRate(b *testing.B, app *App) float64 {
	b.Helper()
	size, err := app.ledger.store.MeanSize(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	rate, err := app.ledger.store.Yardstick(context.Background(), benchConnections, rawPublishes, size)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(size), "event-bytes")
	return rate
}
