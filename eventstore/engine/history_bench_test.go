package engine_test

import (
	"errors"
	mathrand "math/rand/v2"
	"testing"

	"payledger/eventstore"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/format"
)

// BenchmarkHistory reads what is not in memory: the events of one payment, as its history and GET
// /payments/{id}/events do, and all events in order, in the short pieces of checkpoints. go test
// ./eventstore/engine -run - -bench History -benchtime 1000x
func BenchmarkHistory(b *testing.B) {
	dir := b.TempDir()
	s, end := openBench(b, dir)
	ids, err := eventstoretest.Generate(b.Context(), s, "acct", 2000, 4)
	if err != nil {
		b.Fatal(err)
	}
	end()
	s, end = openBench(b, dir)
	defer end()
	b.Run("payment", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			id := ids[i%len(ids)]
			if i >= len(ids) {
				id = ids[mathrand.IntN(len(ids))]
			}
			events, err := s.History(b.Context(), eventstore.Payments.Key("acct", string(id)))
			if err != nil || len(events) != 4 {
				b.Fatal(len(events), err)
			}
		}
	})
	b.Run("event", func(b *testing.B) { // alone, by its address, as the audit log does
		last, err := s.LastSeq(b.Context(), 1)
		if err != nil {
			b.Fatal(err)
		}
		read := uint64(0)
		for i := uint64(0); b.Loop(); i++ {
			r, err := s.Read(b.Context(), 1, format.At(1+i*7%format.GroupOf(last), 0))
			if err == nil {
				read += r.Number
			} else if !errors.Is(err, eventstore.ErrNotFound) { // an empty group
				b.Fatal(err)
			}
		}
	})
	b.Run("pieces", func(b *testing.B) {
		last, err := s.LastSeq(b.Context(), 0)
		if err != nil {
			b.Fatal(err)
		}
		for i := uint64(0); b.Loop(); i++ {
			at := 1 + i%(format.GroupOf(last)/2)
			if err := s.Groups(b.Context(), 0, at, at, func(*format.Group) error { return nil }); err != nil {
				b.Fatal(err)
			}
		}
	})
}
