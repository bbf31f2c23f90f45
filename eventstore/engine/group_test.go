package engine_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"payledger/eventstore"
	"payledger/eventstore/engine"
	"payledger/eventstore/format"
)

// chain makes linked events without a store: n of one group at a sequence, of aggregates that take
// turns.
func chain(t testing.TB, seq uint64, n, aggregates int, size int) []*eventstore.Recorded {
	t.Helper()
	random := rand.New(rand.NewPCG(seq, uint64(n)))
	var all []*eventstore.Recorded
	state := tally{}
	for i := range n {
		who := make([]byte, size)
		for j := range who {
			who[j] = byte(random.UintN(256))
		}
		event := added{N: int64(i), Who: string(who)}
		state = addUp(state, event)
		body, err := tallies.Core.Encode("", event, state)
		if err != nil {
			t.Fatal(err)
		}
		r := &eventstore.Recorded{
			Key: tallies.Key("acct", fmt.Sprintf("aggregate%d", i%aggregates)), Seq: format.At(seq, i), Revision: uint64(i/aggregates + 1),
			Type: event.Type(), Schema: 1, EventID: fmt.Sprintf("event-%d", i), CommandID: fmt.Sprintf("command-%d", i), CorrelationID: "test",
			Actor: "tester", Time: time.Date(2026, 1, 2, 3, 4, 5, i*1000, time.UTC), Body: body, Number: 100 + uint64(i) + 1, Shard: 3,
		}
		previous := eventstore.Hash{}
		if i >= aggregates {
			previous, r.PrevSeq = all[i-aggregates].Hash, all[i-aggregates].Seq
		}
		r.Hash = r.Link(previous)
		all = append(all, r)
	}
	return all
}

// groupOf is a group of events at sequence 9 of shard 3, after 100 events.
func groupOf(frames []*eventstore.Recorded) *engine.Group {
	return &engine.Group{
		Shard: 3, Log: format.LogID{1, 2, 3}, Seq: 9, Before: eventstore.Hash{4}, Events: 100, Aggregates: 50,
		WitnessShard: 4, WitnessSeq: 1 << 40, WitnessHash: eventstore.Hash{5}, Frames: frames,
	}
}

// TestGroupRoundTrip: a group comes back as it was written, however many events it has and however
// it is stored.
func TestGroupRoundTrip(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name             string
		n, aggregates, k int
	}{
		{"one", 1, 1, 10}, {"two of one aggregate", 2, 1, 10}, {"64", 64, 64, 10}, {"256 of 50 aggregates", 256, 50, 10},
		{"one of a megabyte", 1, 1, 1 << 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := groupOf(chain(t, 9, c.n, c.aggregates, c.k))
			for how, encode := range map[string]func() []byte{"compressed": g.Encode, "plain": g.EncodePlain} {
				data := encode()
				got, err := engine.ParseGroup(data)
				if err != nil {
					t.Fatal(how, err)
				}
				want := *g
				want.Hash = got.Hash
				same(t, how, got, &want)
				if check := data[len(data)-engine.GroupTrailer:]; !bytes.HasPrefix(got.Hash[:], check) {
					t.Errorf("%s: the hash is %s, at the message's end stands %x", how, got.Hash, check)
				}
				for i, r := range got.Frames {
					if r.EndsGroup() != (i == c.n-1) {
						t.Errorf("%s: frame %d is the last: %t", how, i, r.EndsGroup())
					}
				}
			}
			if c.n >= 64 && len(g.Encode()) > len(g.EncodePlain())/2 {
				t.Errorf("%d bytes of %d after compression", len(g.Encode()), len(g.EncodePlain()))
			}
		})
	}
}

// TestMalformedGroups: a message that is no group of this log's format is refused, its hash right
// or wrong.
func TestMalformedGroups(t *testing.T) {
	t.Parallel()
	whole := groupOf(chain(t, 9, 2, 1, 10)).EncodePlain()
	for i := range whole {
		damaged := slices.Clone(whole)
		damaged[i] ^= 1
		if _, err := engine.ParseGroup(damaged); !errors.Is(err, engine.ErrGroup) {
			t.Errorf("a flipped bit in byte %d: %v", i, err)
		}
	}
	for n := range len(whole) {
		if _, err := engine.ParseGroup(whole[:n]); !errors.Is(err, engine.ErrGroup) {
			t.Errorf("cut after %d bytes: %v", n, err)
		}
	}
	const kind, compression, count, size, sequence, frames = 4, 5, 6, 8, 30, engine.FixedHeader + engine.WitnessBytes
	number := func(b []byte, at int, n uint32) []byte { binary.BigEndian.PutUint32(b[at:], n); return b }
	short := func(b []byte, at int, n uint16) []byte { binary.BigEndian.PutUint16(b[at:], n); return b }
	set := func(b []byte, at int, n byte) []byte { b[at] = n; return b }
	for name, change := range map[string]func([]byte) []byte{
		"another format":               func(b []byte) []byte { return set(b, 3, '2') },
		"an unknown kind":              func(b []byte) []byte { return set(b, kind, 0x83) },
		"an unknown bit":               func(b []byte) []byte { return set(b, kind, b[kind]|0x20) },
		"a witness of no shard":        func(b []byte) []byte { return short(b, engine.FixedHeader, 0xffff) },
		"an empty group with events":   func(b []byte) []byte { return set(b, kind, b[kind]&0x80|byte(engine.KindEmpty)) },
		"a closing group with events":  func(b []byte) []byte { return set(b, kind, b[kind]&0x80|byte(engine.KindClosing)) },
		"an unknown compression":       func(b []byte) []byte { return set(b, compression, 2) },
		"not compressed as it says":    func(b []byte) []byte { return set(b, compression, 1) },
		"no events":                    func(b []byte) []byte { return short(b, count, 0) },
		"an event less":                func(b []byte) []byte { return short(b, count, 1) },
		"an event more":                func(b []byte) []byte { return short(b, count, 3) },
		"more events than a group has": func(b []byte) []byte { return short(b, count, engine.MaxFrames+1) },
		"65,535 events":                func(b []byte) []byte { return short(b, count, 0xffff) },
		"a byte less":                  func(b []byte) []byte { return number(b, size, uint32(len(b)-frames-engine.GroupTrailer-1)) },
		"four gigabytes":               func(b []byte) []byte { return number(b, size, 0xffff_ffff) },
		"a sequence past all":          func(b []byte) []byte { return set(b, sequence, 1) },
		"an event before itself":       func(b []byte) []byte { return set(b, sequence+7, 7) }, // its second event follows 9.0
		"a frame of four gigabytes":    func(b []byte) []byte { return number(b, frames, 0xffff_ffff) },
	} {
		_, err := engine.ParseGroup(engine.Rehash(change(slices.Clone(whole))))
		if !errors.Is(err, engine.ErrGroup) && !errors.Is(err, engine.ErrFrame) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCompressedBounds: a compressed group that claims another size than it has, or much more, is
// refused within the bounds of the format.
func TestCompressedBounds(t *testing.T) {
	t.Parallel()
	g := groupOf(chain(t, 9, 1, 1, 10))
	g.Frames[0].Body = []byte(strings.Repeat("x", engine.MaxFrameBytes))
	bomb := g.Encode() // a few hundred bytes
	if _, err := engine.ParseGroup(bomb); !errors.Is(err, engine.ErrGroup) || len(bomb) > 64<<10 {
		t.Errorf("%d bytes: %v", len(bomb), err)
	}
	binary.BigEndian.PutUint32(bomb[8:], 100)
	if _, err := engine.ParseGroup(engine.Rehash(bomb)); !errors.Is(err, engine.ErrGroup) {
		t.Errorf("it says 100 bytes: %v", err)
	}
	fits := groupOf(chain(t, 9, 64, 64, 10)).Encode()
	for _, size := range []uint32{0, 1, engine.MaxFrameBytes} {
		binary.BigEndian.PutUint32(fits[8:], size)
		if _, err := engine.ParseGroup(engine.Rehash(fits)); !errors.Is(err, engine.ErrGroup) {
			t.Errorf("it says %d bytes: %v", size, err)
		}
	}
}
