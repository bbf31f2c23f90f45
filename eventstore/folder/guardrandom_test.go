package folder_test

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"payledger/domain/seedtest"
	"payledger/eventstore/folder"
)

var guardRounds = flag.Int("guardrounds", 200, "streams of the random test of the guard")

// grown is a stream that a test lets grow as the server does.
type grown struct {
	*guarded
	random *rand.Rand
	number int // of the first file
	last   uint64
	blocks []grownBlock
	part   []byte // of the next message, at the end of the newest block
}

type grownBlock struct {
	first uint64 // the message with which it begins
	data  []byte
	at    []int // where its records begin
}

// newGrown makes a stream: the first stream of a shard, or a later one, which begins with a
// tombstone. Its first blocks may be gone.
func newGrown(t *testing.T, random *rand.Rand) *grown {
	g := &grown{guarded: newGuarded(t), random: random, number: 1}
	if random.IntN(3) > 0 {
		g.first, g.number = 2+random.Uint64N(1<<20), 2+random.IntN(3)
	}
	g.last = g.first - 1
	g.blocks = []grownBlock{{first: g.first}}
	if g.last > 0 && random.IntN(8) > 0 {
		g.add(tombstone(g.last))
	}
	g.grow()
	return g
}

func (g *grown) newest() *grownBlock { return &g.blocks[len(g.blocks)-1] }

func (g *grown) add(record []byte) {
	b := g.newest()
	b.at = append(b.at, len(b.data))
	b.data = append(b.data, sealed(g.number+len(g.blocks)-1, record)...)
}

// grow appends up to ten messages, in up to ten blocks, and perhaps a part of another one.
func (g *grown) grow() {
	roll := 1 + g.random.IntN(6)
	for range g.random.IntN(11) {
		if len(g.newest().data) > 0 && g.random.IntN(roll) == 0 {
			g.blocks = append(g.blocks, grownBlock{first: g.last + 1})
		}
		g.last++
		g.add(g.message(g.last))
	}
	g.part = nil
	if g.random.IntN(2) == 0 {
		whole := g.message(g.last + 1)
		g.part = whole[:g.random.IntN(len(whole))]
		if g.random.IntN(4) == 0 && len(g.newest().data) > 0 {
			g.blocks = append(g.blocks, grownBlock{first: g.last + 1})
		}
	}
	for i := range g.blocks {
		g.put(i, g.blocks[i].data)
	}
}

func (g *grown) message(seq uint64) []byte {
	body := make([]byte, g.random.IntN(60))
	for i := range body {
		body[i] = byte(g.random.Uint32())
	}
	return recordWith(seq, "a.b"[:1+2*g.random.IntN(2)], body)
}

func (g *grown) put(i int, data []byte) {
	if i == len(g.blocks)-1 {
		data = append(bytes.Clone(data), g.part...)
	}
	g.write(g.number+i, data)
}

// span is a random read.
func (g *grown) span() folder.Span {
	from := g.first + g.random.Uint64N(g.last-g.first+3)
	return folder.Span{
		Stream: stream, First: g.first, From: from, Through: from + g.random.Uint64N(g.last+3-from+1),
		Stored: g.last, On: g.random.IntN(2) == 0,
	}
}

func (g *grown) look(span folder.Span) folder.Damage {
	g.t.Helper()
	damage, err := g.guard.Check(g.t.Context(), span)
	if err != nil {
		g.t.Fatal(err)
	}
	return damage
}

// whole reads every span of the stream as it is, and returns the number of those that are refused.
func (g *grown) whole() (refused int) {
	for from := g.first; from <= g.last+2; from++ {
		for through := from; through <= g.last+3; through++ {
			for _, on := range []bool{false, true} {
				stored := g.first - 1 + g.random.Uint64N(g.last-g.first+2) // none, to all
				span := folder.Span{Stream: stream, First: g.first, From: from, Through: through, Stored: stored, On: on}
				if damage := g.look(span); damage.Reason != "" {
					g.t.Errorf("%+v: %+v", span, damage)
					refused++
				}
			}
		}
	}
	return refused
}

// damage changes a byte of a length, or of a sequence of a message, and writes the block. It
// returns the block and the change.
func (g *grown) damage() (i int, what string) {
	for {
		i = g.random.IntN(len(g.blocks))
		b := g.blocks[i]
		if len(b.at) == 0 {
			continue
		}
		at := b.at[g.random.IntN(len(b.at))]
		place := g.random.IntN(12)
		mark := b.data[at+11]&(1<<6) != 0 // the server passes over the sequence of a tombstone
		if place >= sequence && mark {
			continue
		}
		data, value := bytes.Clone(b.data), byte(g.random.Uint32())
		if place == 3 {
			value &^= 1 << 7 // says that there is a header
		}
		if data[at+place] == value {
			continue
		}
		data[at+place] = value
		// The part of the next message may make the last one whole in this way. The server finds
		// the message by its checksum, and cuts nothing.
		ends := at + int(binary.LittleEndian.Uint32(data[at:]))
		if i == len(g.blocks)-1 && len(g.part) > 0 && ends == len(data)+len(g.part) {
			continue
		}
		g.put(i, data)
		return i, fmt.Sprintf("block %d of %d, offset %d, byte %d is %d", i+1, len(g.blocks), at, place, value)
	}
}

// TestRandomGuard: whole streams of all shapes are never refused, also while they grow. A wrong
// byte of a length or a sequence is never passed, and not after it was found, either.
func TestRandomGuard(t *testing.T) {
	t.Parallel()
	seed := seedtest.Seed(t)
	for round := range *guardRounds {
		g := newGrown(t, rand.New(rand.NewPCG(seed, uint64(round))))
		if g.whole() > 0 {
			t.Fatalf("round %d: a whole stream is refused", round)
		}
		for range 3 {
			g.now = g.now.Add(time.Duration(g.random.IntN(12)) * time.Second)
			g.grow()
			for range 10 {
				span := g.span()
				if damage := g.look(span); damage.Reason != "" {
					t.Fatalf("round %d: %+v of a whole stream: %+v", round, span, damage)
				}
			}
		}
		if g.last >= g.first {
			g.checkDamage(round)
		}
		if err := os.RemoveAll(g.dir); err != nil {
			t.Fatal(err)
		}
	}
}

// checkDamage damages the stream in some ways.
func (g *grown) checkDamage(round int) {
	g.t.Helper()
	for range 4 {
		i, what := g.damage()
		first, last := g.blocks[i].first, max(g.blocks[i].first, g.last)
		if i+1 < len(g.blocks) { // else it gets the next message
			last = g.blocks[i+1].first - 1
		}
		g.later()
		for range 10 {
			span := g.span()
			if span.From > last || span.Through < first {
				continue
			}
			for again := range 2 {
				if damage := g.look(span); damage.Reason == "" || damage.Seq < first || damage.Seq > last+1 {
					g.t.Fatalf("round %d: %s: %+v, look %d: %+v, the block has %d to %d", round, what, span, again, damage, first, last)
				}
			}
		}
		g.put(i, g.blocks[i].data)
		g.later()
		if span := g.span(); g.look(span).Reason != "" {
			g.t.Fatalf("round %d: %+v of a restored stream is refused", round, span)
		}
	}
}
