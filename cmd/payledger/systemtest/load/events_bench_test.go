//go:build system

package load

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"payledger/cmd/payledger/apptest"
)

// BenchmarkReadAfterWrite reads a payment, or its events, over HTTP right after a capture of a part
// was answered, when no checkpoint covers it yet. It reports the time of such a read, its size, and
// how often the newest event had its position.
func BenchmarkReadAfterWrite(b *testing.B) {
	for name, path := range map[string]string{"payment": "", "events": "/events"} {
		b.Run(name, func(b *testing.B) { readAfterWrite(b, path) })
	}
}

func readAfterWrite(b *testing.B, path string) {
	app := apptest.StartApp(b, apptest.TestOptions(b.TempDir()))
	m := apptest.NewMerchant(app.Ready().API, app.Credentials.APIKey)
	durations := make([]time.Duration, 0, b.N)
	var paid apptest.PaymentAnswer
	placed, size := 0, 0
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		if i%5 == 0 { // a payment has few events
			got, err := m.Pay(m.Token(b, fmt.Sprintf("order-%d", i), 100_000, "4111111111111111"), "")
			if err != nil || got.Status != 200 {
				b.Fatal(got.Status, err)
			}
			got.Decode(b, &paid)
		}
		m.Must(b, "POST", "/payments/"+paid.ID+"/capture", m.Headers(), map[string]any{"amount": 100, "final": false})
		b.StartTimer()
		start := time.Now()
		read := m.Must(b, "GET", "/payments/"+paid.ID+path, m.Headers(), nil)
		durations = append(durations, time.Since(start))
		if newest := read.Body[max(0, bytes.LastIndex(read.Body, []byte(`"revision"`))):]; bytes.Contains(newest, []byte(`"position"`)) {
			placed++
		}
		size += len(read.Body)
	}
	slices.Sort(durations)
	b.ReportMetric(float64(durations[len(durations)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(durations[len(durations)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(placed)/float64(len(durations)), "placed/read")
	b.ReportMetric(float64(size)/float64(len(durations)), "bytes/read")
}
