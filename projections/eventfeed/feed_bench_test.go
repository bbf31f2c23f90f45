package eventfeed_test

import (
	"runtime"
	"testing"
	"time"
)

// BenchmarkFeed feeds the events of 12,500 payments, 100,000 events, into an empty stream. It reports the rate, and the heap in use
// after a tenth of the events and at the end: the feed's memory does not grow with the log.
func BenchmarkFeed(b *testing.B) {
	r := newRig(b)
	size := r.payments(b, 12_500)
	heap := func() float64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return float64(m.HeapInuse) / (1 << 20)
	}
	before := heap()
	var early, late float64
	var spent time.Duration
	for b.Loop() {
		server := analysts(b, b.TempDir())
		start := time.Now()
		f, end := r.feed(b, server, nil)
		fed(b, f, size/10)
		early = heap() - before
		fed(b, f, size)
		spent += time.Since(start)
		late = heap() - before
		end()
		server.Close()
	}
	b.ReportMetric(float64(size)*float64(b.N)/spent.Seconds(), "events/s")
	b.ReportMetric(early, "MiB-at-10%")
	b.ReportMetric(late, "MiB-at-end")
}
