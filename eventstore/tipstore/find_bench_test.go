package tipstore

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"testing"
)

// BenchmarkFind looks up keys that a large store does not have: go test ./eventstore/tipstore -run - -bench Find
func BenchmarkFind(b *testing.B) {
	s, err := Open(Options{Dir: b.TempDir(), Cache: 32 << 20})
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
				if _, err := get(key(i)); !errors.Is(err, ErrNotFound) {
					b.Fatal(err)
				}
			}
		})
	}
}
