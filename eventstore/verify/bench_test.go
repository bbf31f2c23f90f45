package verify_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"payledger/eventstore/archive"
	"payledger/eventstore/benchlog"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/format"
	"payledger/eventstore/secretlog"
	"payledger/eventstore/secrets"
	"payledger/eventstore/verify"
)

var benchPayments = flag.Int("verifypayments", 500, "number of payments in the log of BenchmarkVerify, if it makes one")

// BenchmarkVerify compares the rate of a whole check with the rate at which the same process reads
// the files, and with the rate at which it decompresses, decodes and hashes the same events. heapMB
// is the largest heap that was seen during the check. With -benchlog it reads the log in that
// folder.
func BenchmarkVerify(b *testing.B) {
	l := &log{dir: benchlog.Dir(b, *benchPayments)}
	public, err := secrets.Verifier(secretlog.Stopped(l.dir), eventstoretest.MasterKey)
	if err == nil {
		l.verifier, err = note.NewVerifier(public)
	}
	if err != nil {
		b.Fatal(err)
	}
	var verifying, decoding, reading time.Duration
	var events, size uint64
	heap := uint64(0)
	for b.Loop() {
		begin := time.Now()
		size = readFiles(b, l.dir)
		reading += time.Since(begin)
		begin = time.Now()
		events = decodeAll(b, l.dir)
		decoding += time.Since(begin)
		begin = time.Now()
		heap = max(heap, eventstoretest.LargestHeap(func() {
			if faults, _ := l.stopped(b, nil); len(faults) > 0 {
				b.Fatal(faults)
			}
		}))
		verifying += time.Since(begin)
	}
	total := float64(b.N) * float64(events)
	b.ReportMetric(float64(events), "events")
	b.ReportMetric(total/verifying.Seconds(), "events/s")
	b.ReportMetric(total/decoding.Seconds(), "decoded/s")
	b.ReportMetric(float64(b.N)*float64(size)/reading.Seconds()/1e6, "rawMB/s")
	b.ReportMetric(decoding.Seconds()/verifying.Seconds(), "ratio")
	b.ReportMetric(float64(heap)/1e6, "heapMB")
}

// BenchmarkVerifyRunning is BenchmarkVerify beside the embedded server, whose files are read.
// toStopped is the rate to that of a check of the same files before the server's start.
func BenchmarkVerifyRunning(b *testing.B) {
	l := &log{dir: benchlog.Dir(b, *benchPayments)}
	check := func(faults []verify.Fault, _ verify.Result) {
		if len(faults) > 0 {
			b.Fatal(faults)
		}
	}
	begin := time.Now()
	check(l.stopped(b, nil))
	stopped := time.Since(begin)
	store := eventstoretest.OpenOn(b, eventstoretest.Config(eventstoretest.Server(b, l.dir)))
	var verifying, decoding time.Duration
	var events uint64
	heap := uint64(0)
	for b.Loop() {
		a, err := store.Archive(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		begin := time.Now()
		events = decodeOf(b, a)
		decoding += time.Since(begin)
		begin = time.Now()
		heap = max(heap, eventstoretest.LargestHeap(func() { check(l.faults(b, a, nil)) }))
		verifying += time.Since(begin)
		if err := a.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(events), "events")
	b.ReportMetric(float64(b.N)*float64(events)/verifying.Seconds(), "events/s")
	b.ReportMetric(float64(b.N)*float64(events)/decoding.Seconds(), "decoded/s")
	b.ReportMetric(decoding.Seconds()/verifying.Seconds(), "ratio")
	b.ReportMetric(float64(b.N)*stopped.Seconds()/verifying.Seconds(), "toStopped")
	b.ReportMetric(float64(heap)/1e6, "heapMB")
}

// readFiles reads the blocks of the log, and returns their size.
func readFiles(b *testing.B, dir string) (size uint64) {
	b.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "LEDGER_*", "msgs", "*.blk"))
	if err != nil || len(paths) == 0 {
		b.Fatal(paths, err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			b.Fatal(err)
		}
		size += uint64(len(text))
	}
	return size
}

// decodeAll decompresses, decodes and hashes all events, the shards concurrently, and returns their
// number.
func decodeAll(b *testing.B, dir string) (events uint64) {
	b.Helper()
	a, err := archive.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	events = decodeOf(b, a)
	if err := a.Close(); err != nil {
		b.Fatal(err)
	}
	return events
}

// decodeOf is decodeAll for an open archive.
func decodeOf(b *testing.B, a *archive.Archive) (events uint64) {
	b.Helper()
	counts := make([]uint64, a.Shards)
	var shards sync.WaitGroup
	for n := range counts {
		shards.Go(func() {
			damaged := func(string, uint64, string) error { b.Error("damage"); return nil }
			err := a.Groups(context.Background(), n, damaged, func(_ string, g *format.Group) error {
				for _, r := range g.Frames {
					if _, err := verify.Recorded(r); err != nil {
						return err
					}
					_ = r.Link(r.Hash)
					counts[n]++
				}
				return nil
			})
			if err != nil {
				b.Error(err)
			}
		})
	}
	shards.Wait()
	for _, n := range counts {
		events += n
	}
	return events
}
