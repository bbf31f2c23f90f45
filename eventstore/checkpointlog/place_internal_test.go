package checkpointlog

import (
	"context"
	"math/rand/v2"
	"testing"

	"payledger/eventstore/checkpoint"
	"payledger/eventstore/format"
)

// counted is a shard of groups, some of which have a checkpoint.
type counted struct {
	Shard
	groups []*format.Group // group n is at n-1
	head   format.Head
	reads  int
}

func (c *counted) add(has bool) {
	g := &format.Group{Seq: c.head.Seq + 1, Events: c.head.Events}
	if c.head.Seq++; has {
		c.head.Events++
		c.head.Last = format.At(g.Seq, 0)
		g.Frames = []*format.Recorded{{Key: checkpoint.Key, Revision: c.head.Events, Seq: c.head.Last}}
	}
	c.groups = append(c.groups, g)
}

func (c *counted) Newest() (format.Head, <-chan struct{}, error) { return c.head, nil, nil }

func (c *counted) CatchUp(context.Context) error { return nil }

func (c *counted) Group(_ context.Context, seq uint64) (*format.Group, error) {
	c.reads++
	return c.groups[seq-1], nil
}

// TestFind: each checkpoint is found by its number, wherever groups without one stand. A checkpoint
// that is known, or between neighbours that are known, takes one read.
func TestFind(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 7))
	for name, empties := range map[string]func(n int) int{
		"no empty groups":       func(int) int { return 0 },
		"some empty groups":     func(int) int { return random.IntN(3) },
		"a start now and then":  func(n int) int { return min(n%50, 1) ^ 1 },
		"a long time of reads":  func(n int) int { return 5000 * (n % 97 / 96) },
		"many before the first": func(n int) int { return 900 * (1 - min(n, 1)) },
	} {
		s := &counted{}
		const checkpoints = 300
		for n := range checkpoints {
			for range empties(n) {
				s.add(false)
			}
			s.add(true)
		}
		s.add(false)
		l := &Log{Config: Config{Shard: s}}
		for _, known := range []bool{false, true} {
			s.reads = 0
			for _, n := range random.Perm(checkpoints) {
				r, err := l.find(t.Context(), uint64(n)+1)
				if err != nil || r.Revision != uint64(n)+1 {
					t.Fatalf("%s: checkpoint %d: %v, %v", name, n+1, r, err)
				}
			}
			if most := 15 * checkpoints; s.reads > most || known && s.reads != checkpoints {
				t.Errorf("%s: %d reads of %d checkpoints, known: %t", name, s.reads, checkpoints, known)
			}
		}
		for _, none := range []uint64{0, checkpoints + 1} {
			if r, err := l.find(t.Context(), none); !isNone(err) {
				t.Errorf("%s: checkpoint %d is %v, %v", name, none, r, err)
			}
		}
	}
}

// TestPlacesKept: places are forgotten evenly.
func TestPlacesKept(t *testing.T) {
	t.Parallel()
	var p places
	for n := range uint64(10 * placesKept) {
		p.note(n+1, 2*n+1)
	}
	if len(p.all) > placesKept || p.all[0].number > 16 || p.all[len(p.all)/2].number < placesKept {
		t.Errorf("%d places, from %v over %v", len(p.all), p.all[0], p.all[len(p.all)/2])
	}
	if low, high := p.between(p.all[7].number, place{1 << 20, 1 << 21}); low != p.all[7].seq || high != low {
		t.Errorf("a known place is between %d and %d", low, high)
	}
}
