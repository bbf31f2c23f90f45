package tipstore

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"
)

var (
	manyAggregates = flag.Int("aggregates", 100_000, "how many aggregates BenchmarkMany stores")
	manyBytes      = flag.Int("aggregatebytes", 600, "bytes of each tip of BenchmarkMany")
)

// BenchmarkMany fills a store with many aggregates, then looks some up at random, those that are there and those that are not. It
// reports the time to store one, bytes on the disk of each, the memory of the process, and the time of look-ups. The figures of
// SCALING.md are of
//
//	go test ./eventstore/tipstore -run - -bench Many -benchtime 20000x -aggregates 10000000
func BenchmarkMany(b *testing.B) {
	dir := b.TempDir()
	s, err := Open(Options{Dir: dir, Cache: 64 << 20})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	key := func(i int) []byte {
		k := sha256.Sum256(binary.BigEndian.AppendUint64(nil, uint64(i)))
		return k[:]
	}
	random := rand.New(rand.NewPCG(1, 1))
	value := make([]byte, *manyBytes) // half of it random: as much as a tip that is compressed alone leaves
	began := time.Now()
	for i := 0; i < *manyAggregates; i += 1000 {
		batch := s.NewBatch()
		for j := range min(1000, *manyAggregates-i) {
			for at := 0; at+8 <= len(value)/2; at += 8 {
				binary.LittleEndian.PutUint64(value[at:], random.Uint64())
			}
			if err := batch.Set(key(i+j), value); err != nil {
				b.Fatal(err)
			}
		}
		if err := batch.Commit(); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Flush(); err != nil {
		b.Fatal(err)
	}
	stored := time.Since(began)
	for name, get := range map[string]func() error{
		"there":    func() error { _, err := s.Get(key(random.IntN(*manyAggregates))); return err },
		"notthere": func() error { _, err := s.Find(key(*manyAggregates + random.IntN(1<<40))); return err },
	} {
		b.Run(name, func(b *testing.B) {
			times := make([]time.Duration, 0, b.N)
			for b.Loop() {
				at := time.Now()
				if err := get(); err != nil && !errors.Is(err, ErrNotFound) {
					b.Fatal(err)
				}
				times = append(times, time.Since(at))
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/2])/1e3, "p50-µs")
			b.ReportMetric(float64(times[len(times)*99/100])/1e3, "p99-µs")
			b.ReportMetric(float64(stored.Microseconds())/float64(*manyAggregates), "µs/stored")
			b.ReportMetric(float64(folderSize(b, dir))/float64(*manyAggregates), "B/aggregate")
			b.ReportMetric(residentMiB(b), "RSS-MiB")
		})
	}
}

func folderSize(b *testing.B, dir string) (size int64) {
	b.Helper()
	err := filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			size += info.Size()
		}
		return nil // a compaction may remove a file meanwhile
	})
	if err != nil {
		b.Fatal(err)
	}
	return size
}

// residentMiB returns the resident memory of this process; 0 where /proc has none.
func residentMiB(b *testing.B) float64 {
	b.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, after, _ := bytes.Cut(text, []byte("VmRSS:"))
	kib, err := strconv.Atoi(string(bytes.Fields(after)[0]))
	if err != nil {
		b.Fatal(err)
	}
	return float64(kib) / 1024
}
