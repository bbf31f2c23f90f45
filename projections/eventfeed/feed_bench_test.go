package eventfeed_test

import (
	"flag"
	"runtime"
	"testing"
	"time"

	"payledger/eventstore/benchlog"
	"payledger/eventstore/ordered"
	"payledger/projections/eventfeed"
)

var benchPayments = flag.Int("feedpayments", 12_500, "number of payments in the log of BenchmarkFeed, if it makes one")

// BenchmarkFeed feeds the events of a log, 100,000 by default, into an empty stream. It reports the
// rate, and the heap in use after a tenth of the events and at the end: the feed's memory does not
// grow with the log. With -benchlog it reads the log in that folder. go test
// ./projections/eventfeed -run - -bench Feed -benchtime 1x -feedpayments 100000
func BenchmarkFeed(b *testing.B) {
	store := benchlog.Open(b, *benchPayments)
	r := &rig{store, ordered.New(store)}
	size := store.Events()
	heap := func() float64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return float64(m.HeapInuse) / (1 << 20)
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	until := func(f *eventfeed.Feed, position uint64) { // a long log takes longer than await allows
		for f.Position() < position {
			<-tick.C
		}
	}
	before := heap()
	var early, late float64
	var spent time.Duration
	for b.Loop() {
		server := analysts(b, b.TempDir())
		start := time.Now()
		f, end := r.feed(b, server, nil)
		until(f, size/10)
		early = heap() - before
		until(f, size)
		spent += time.Since(start)
		late = heap() - before
		end()
		server.Close()
	}
	b.ReportMetric(float64(size), "events")
	b.ReportMetric(float64(size)*float64(b.N)/spent.Seconds(), "events/s")
	b.ReportMetric(early, "MiB-at-10%")
	b.ReportMetric(late, "MiB-at-end")
}
