package checkpointlog

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"payledger/eventstore/checkpoint"
	"payledger/eventstore/fault"
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

// TestFind: each checkpoint is found by its number, wherever groups without one stand. Beside a
// known one, a read of one group is enough if there is none.
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
		gaps := 1
		for n := range checkpoints {
			more := empties(n)
			for range more {
				s.add(false)
			}
			s.add(true)
			gaps += min(more, 1)
		}
		s.add(false)
		down := random.Perm(checkpoints)
		slices.Sort(down)
		up := slices.Clone(down)
		slices.Reverse(down)
		for order, numbers := range map[string][]int{"random": random.Perm(checkpoints), "up": up, "down": down} {
			l := New(Config{Shard: s})
			most := 15 * checkpoints
			if order != "random" {
				most = checkpoints + 16*gaps
			}
			s.reads = 0
			for _, n := range numbers {
				r, err := l.find(t.Context(), uint64(n)+1)
				if err != nil || r.Revision != uint64(n)+1 {
					t.Fatalf("%s: checkpoint %d: %v, %v", name, n+1, r, err)
				}
				if order != "random" {
					l.keep(checkpoint.Checkpoint{Number: r.Revision, Place: r.Seq})
				}
			}
			if s.reads > most {
				t.Errorf("%s, %s: %d reads of %d checkpoints", name, order, s.reads, checkpoints)
			}
			for _, none := range []uint64{0, checkpoints + 1} {
				if r, err := l.find(t.Context(), none); !isNone(err) {
					t.Errorf("%s: checkpoint %d is %v, %v", name, none, r, err)
				}
			}
		}
	}
}

// TestFindInSearch: a search has just read the checkpoints between which the next one stands.
func TestFindInSearch(t *testing.T) {
	t.Parallel()
	const newest = 1000
	for wanted := range uint64(newest + 1) {
		l := New(Config{})
		low, high := uint64(0), uint64(newest)
		_, err := checkpoint.Search(newest, func(number uint64) (checkpoint.Checkpoint, error) {
			before, after := l.around(number, place{newest, newest})
			if before.number != low || after.number != high {
				t.Fatalf("%d stands between %d and %d, not %d and %d", number, low, high, before.number, after.number)
			}
			if number <= wanted {
				low = number
			} else {
				high = number
			}
			c := checkpoint.Checkpoint{Number: number, Place: format.At(number, 0)}
			l.keep(c)
			return c, nil
		}, func(c checkpoint.Checkpoint) bool { return c.Number <= wanted })
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestLocateDamage: a group that counts more records than there are groups before it is named, and
// no other one is read.
func TestLocateDamage(t *testing.T) {
	t.Parallel()
	_, err := checkpoint.Locate("CHECKPOINTS_1", 3, 5, 1, 9, func(seq uint64) (*format.Group, error) {
		if seq != 5 {
			t.Fatalf("group %d was read", seq)
		}
		return &format.Group{Seq: seq, Events: 1 << 62}, nil
	})
	var damaged *fault.Place
	if !errors.As(err, &damaged) || damaged.Seq != 5 {
		t.Errorf("%v", err)
	}
}
