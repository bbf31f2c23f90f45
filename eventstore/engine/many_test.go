package engine_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"flag"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"payledger/domain"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/folder"
	"payledger/eventstore/tipstore"
	"payledger/eventstore/tipstore/tipfiles"
)

var manyAggregates = flag.Int("aggregates", 20_000, "how many aggregates BenchmarkMany stores, and TestMany: a quarter if it takes a sample")

const (
	// manyCache is the memory of the tip store, as a service with --memory of 1 GiB has it.
	manyCache = 64 << 20
	// manyAtOnce is the number of aggregates in a write that is synced: those of a second with
	// 2,000 payments.
	manyAtOnce = 2_000 * eventstoretest.LifeAggregates
	// manySamples is the number of payments whose tips are copied.
	manySamples = 250
)

// manyTips is a tip store with many aggregates: copies of the tips of real payments under other
// ids, written as the store of the log writes them.
type manyTips struct {
	store   *tipstore.Store
	dir     string
	samples [][]tipRow
	n       int
	took    time.Duration
}

type tipRow struct{ before, id, after, value []byte }

// TestMany: the tip store finds every one of many aggregates and no other, and a tip takes no more
// of the disk than SCALING.md says.
func TestMany(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	m := fillMany(t, scale(*manyAggregates/4, *manyAggregates))
	for i := range m.n {
		for _, r := range m.samples[i%len(m.samples)] {
			key, want := r.copy(i)
			if got, err := m.store.Get(key); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("aggregate %d: %q: %d bytes, %v; want %d bytes", i, key, len(got), err, len(want))
			}
			other, _ := r.copy(i + m.n)
			if got, err := m.store.Find(other); !errors.Is(err, tipstore.ErrNotFound) {
				t.Fatalf("an aggregate that is not there: %q: %d bytes, %v", other, len(got), err)
			}
		}
	}
	size := m.size(t) / int64(m.n)
	t.Logf("%d bytes of an aggregate", size)
	if size < 200 || size > 3000 {
		t.Errorf("an aggregate takes %d bytes of the disk", size)
	}
}

// BenchmarkMany fills a tip store with many aggregates, then looks some up at random, those that
// are there and those that are not. It reports the time to store one, its bytes on the disk, the
// memory of the process, and the time of look-ups. The figures of deploy/SCALING.md are of
//
//	go test ./eventstore/engine -run - -bench Many -benchtime 20000x -aggregates 10000000 -timeout 1h
func BenchmarkMany(b *testing.B) {
	m := fillMany(b, *manyAggregates)
	random := rand.New(rand.NewPCG(1, 1))
	key := func(i int) []byte {
		key, _ := m.samples[i%len(m.samples)][0].copy(i)
		return key
	}
	for name, get := range map[string]func() error{
		"there":    func() error { _, err := m.store.Get(key(random.IntN(m.n))); return err },
		"notthere": func() error { _, err := m.store.Find(key(m.n + random.IntN(1<<40))); return err },
	} {
		b.Run(name, func(b *testing.B) {
			times := make([]time.Duration, 0, b.N)
			for b.Loop() {
				at := time.Now()
				if err := get(); errors.Is(err, tipstore.ErrNotFound) != (name == "notthere") {
					b.Fatal(err)
				}
				times = append(times, time.Since(at))
			}
			slices.Sort(times)
			runtime.GC()
			var memory runtime.MemStats
			runtime.ReadMemStats(&memory)
			b.ReportMetric(float64(times[len(times)/2])/1e3, "p50-µs")
			b.ReportMetric(float64(times[len(times)*99/100])/1e3, "p99-µs")
			b.ReportMetric(float64(m.n)/m.took.Seconds(), "stored/s")
			b.ReportMetric(float64(m.size(b))/float64(m.n), "B/aggregate")
			b.ReportMetric(float64(memory.HeapAlloc)/(1<<20), "heap-MiB")
			b.ReportMetric(residentMiB(b), "RSS-MiB")
		})
	}
}

// fillMany makes a tip store of n aggregates.
func fillMany(t testing.TB, n int) *manyTips {
	t.Helper()
	m := &manyTips{dir: filepath.Join(t.TempDir(), folder.Tips), samples: sampleTips(t), n: n}
	var err error
	if m.store, err = tipfiles.Open(tipstore.Options{Dir: m.dir, Cache: manyCache}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.store.Close(); err != nil {
			t.Error(err)
		}
	})
	began := time.Now()
	for i := 0; i < n; i += manyAtOnce {
		batch := m.store.NewBatch()
		for j := i; j < min(n, i+manyAtOnce); j++ {
			for _, r := range m.samples[j%len(m.samples)] {
				if err := batch.Set(r.copy(j)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := errors.Join(batch.Commit(), m.store.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	m.took = time.Since(began)
	return m
}

// sampleTips returns the rows of the aggregates of real payments, each with the parts moved out of
// its state.
func sampleTips(t testing.TB) (samples [][]tipRow) {
	t.Helper()
	dir := t.TempDir()
	c := eventstoretest.Config(eventstoretest.Server(t, dir))
	c.Shards = 1
	store, err := engine.Open(testContext(t), c)
	if err != nil {
		t.Fatal(err)
	}
	_, err = eventstoretest.Generate(testContext(t), store, domain.NewAccountID([16]byte{7}), manySamples, 64)
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	tips, err := tipfiles.Open(tipstore.Options{Dir: filepath.Join(dir, folder.Tips), ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer tips.Close()
	view := tips.Snapshot()
	defer view.Close()
	of := map[string]int{} // the place in samples, by aggregate, account and id
	for _, kind := range []string{"t", "h"} {
		err = errors.Join(err, view.Each([]byte(kind), func(key, value []byte) error {
			key, value = bytes.Clone(key), bytes.Clone(value)
			parts := bytes.SplitN(key[1:], []byte{0}, 3)
			id, _, _ := bytes.Cut(parts[2], []byte{0})
			r := tipRow{before: key[:len(key)-len(parts[2])], id: id, after: key[len(key)-len(parts[2])+len(id):], value: value}
			name := string(r.before[1:]) + string(id)
			if kind == "t" {
				of[name], samples = len(samples), append(samples, nil)
			}
			samples[of[name]] = append(samples[of[name]], r)
			return nil
		}))
	}
	if err != nil || len(samples) != manySamples*eventstoretest.LifeAggregates {
		t.Fatal(len(samples), err)
	}
	return samples
}

// copy returns the row with the id of aggregate number i in its key and its value.
func (r tipRow) copy(i int) (key, value []byte) {
	hash := sha256.Sum256(binary.BigEndian.AppendUint64(nil, uint64(i)))
	id := make([]byte, base32.HexEncoding.EncodedLen(len(hash)))
	base32.HexEncoding.Encode(id, hash[:])
	id = id[:len(r.id)]
	return slices.Concat(r.before, id, r.after), bytes.ReplaceAll(r.value, r.id, id)
}

// size returns the bytes of the store's files.
func (m *manyTips) size(t testing.TB) (size int64) {
	t.Helper()
	err := filepath.WalkDir(m.dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil //nolint:nilerror // a compaction removes files meanwhile
		}
		if info, err := entry.Info(); err == nil {
			size += info.Size()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
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
