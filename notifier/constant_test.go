package notifier

import (
	"context"
	"crypto/rand"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/embedded"
	"payledger/eventstore/engine"
	"payledger/notifier/delivery"
)

// started has the cost of a start on a folder with many deliveries, and the size of the folder.
type started struct {
	took               time.Duration
	heap               uint64 // bytes
	log, tips, records int64  // bytes a delivery, in the stream and in the tip store; number of records
}

// startWith makes n deliveries that are over, each with its outcome, and starts on them. at is how
// many are put at once.
func startWith(t testing.TB, n, at int) (s started) {
	t.Helper()
	dir, ctx := t.TempDir(), context.Background()
	open := func() (func(), stream) {
		server, err := embedded.Start(embedded.Config{Dir: dir, Name: "test"})
		if err != nil {
			t.Fatal(err)
		}
		store, err := engine.Open(ctx, engine.Config{
			Server: server, Shards: 1, Memory: 1 << 20, Now: time.Now, Random: rand.Reader, Logger: zerolog.Nop(),
		})
		if err != nil {
			t.Fatal(err)
		}
		return func() {
			if err := store.Close(); err != nil {
				t.Error(err)
			}
			if err := server.Close(); err != nil {
				t.Error(err)
			}
		}, store.Deliveries()
	}
	stop, stored := open()
	var writers sync.WaitGroup
	for w := range at {
		writers.Go(func() {
			for i := w; i < n; i += at {
				putOver(t, stored, i)
			}
		})
	}
	writers.Wait()
	stop()
	began := time.Now()
	stop, stored = open()
	s.took = time.Since(began)
	if lanes, err := stored.Lanes(ctx); err != nil || len(lanes) != 0 {
		t.Error(lanes, err)
	}
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	s.heap, s.records = m.HeapAlloc, int64(2*n)
	stop()
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		switch {
		case err != nil:
		case strings.Contains(path, "/DELIVERIES_") && strings.HasSuffix(path, ".blk"):
			s.log += info.Size()
		case strings.Contains(path, "/tips/"):
			s.tips += info.Size()
		}
		return err
	})
	s.log, s.tips = s.log/int64(n), s.tips/int64(n)
	return s
}

// putOver puts a delivery and its success.
func putOver(t testing.TB, s stream, i int) {
	id := func() string {
		id, err := eventstore.NewUUID(rand.Reader)
		if err != nil {
			t.Error(err)
		}
		return id
	}
	d := goldenDelivery
	d.EventID, d.AggregateID, d.Seq, d.PlannedAt = id(), fmt.Sprintf("01%s", strings.ReplaceAll(id(), "-", "")[:24]), uint64(i)<<8, time.Now().UTC()
	at := uint64(0)
	for _, d := range []delivery.Delivery{d, d.WithAttempt(delivery.Attempt{StartedAt: time.Now().UTC(), Duration: 1234, StatusCode: 200, Keys: []string{string(domain.SecretID("signing-secret.acct1.1"))}}, nominal)} {
		body, err := d.Encode()
		if err == nil {
			at, err = s.Put(context.Background(), d.Name(), at, body, d.Status.Open())
		}
		if err != nil {
			t.Error(err)
			return
		}
	}
}

// BenchmarkStart: the time of a start and the heap after it, by the number of deliveries that were
// ever made.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		for _, n := range []int{1_000, 30_000, 100_000} {
			s := startWith(b, n, 256)
			b.ReportMetric(float64(s.took.Milliseconds()), fmt.Sprintf("ms-of-%d", n))
			b.ReportMetric(float64(s.heap)/(1<<20), fmt.Sprintf("heap-MiB-of-%d", n))
		}
	}
}

// BenchmarkBytes: bytes a delivery with its outcome, put one after the other and many at once.
func BenchmarkBytes(b *testing.B) {
	for b.Loop() {
		for _, at := range []int{1, 64} {
			s := startWith(b, 2_000, at)
			b.ReportMetric(float64(s.log), fmt.Sprintf("log-B-at-%d", at))
			b.ReportMetric(float64(s.tips), fmt.Sprintf("tips-B-at-%d", at))
		}
	}
}
