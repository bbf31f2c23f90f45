package tipfiles_test

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"testing"

	"payledger/eventstore/tipstore"
	"payledger/eventstore/tipstore/tipfiles"
)

// TestCacheHasRoom: after many batches, tables of waiting writes leave most of the cache to blocks,
// and a look-up that is repeated reads no file.
func TestCacheHasRoom(t *testing.T) {
	t.Parallel()
	s, metrics, _, err := tipfiles.OpenWatched(tipstore.Options{Dir: t.TempDir(), Cache: 16 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	key := func(i int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(i)) }
	for i := range 20 {
		batch := s.NewBatch()
		for j := range 100 {
			batch.Set(key(100*i+j), make([]byte, 20_000))
		}
		if err := errors.Join(batch.Commit(), s.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	if reserved := metrics().MemTable.Size + metrics().MemTable.ZombieSize; reserved > 4<<20 {
		t.Errorf("tables of waiting writes take %d bytes of the cache", reserved)
	}
	for range 100 { // a compaction may take the place of a file meanwhile
		before := metrics().BlockCache.Misses
		for i := range 100 {
			if _, err := s.Find(key(1<<30 + i)); !errors.Is(err, tipstore.ErrNotFound) {
				t.Fatal(err)
			}
		}
		if metrics().BlockCache.Misses == before {
			return
		}
	}
	t.Error("look-ups go on reading files")
}

// BenchmarkFind looks up keys that a large store does not have: go test
// ./eventstore/tipstore/tipfiles -run - -bench Find
func BenchmarkFind(b *testing.B) {
	s, err := tipfiles.Open(tipstore.Options{Dir: b.TempDir(), Cache: 32 << 20})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	key := func(i int) []byte {
		k := sha256.Sum256(binary.BigEndian.AppendUint64(nil, uint64(i)))
		return k[:]
	}
	value := make([]byte, 700)
	for i := range value {
		value[i] = byte(i * i)
	}
	for i := 0; i < 600_000; i += 1000 {
		batch := s.NewBatch()
		for j := range 1000 {
			copy(value, key(i+j))
			batch.Set(key(i+j), value)
		}
		if err := batch.Commit(); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Flush(); err != nil {
		b.Fatal(err)
	}
	for name, get := range map[string]func([]byte) ([]byte, error){"Get": s.Get, "Find": s.Find} {
		b.Run(name, func(b *testing.B) {
			i := 1 << 30
			for b.Loop() {
				i++
				if _, err := get(key(i)); !errors.Is(err, tipstore.ErrNotFound) {
					b.Fatal(err)
				}
			}
		})
	}
}
