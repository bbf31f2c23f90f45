package engine_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"payledger/eventstore"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/format"
)

const kindBits = 0x03 // of the byte of the kind

// withAllFields returns a group with every optional field of its header.
func withAllFields() *format.Group {
	return &format.Group{
		Kind: format.KindEmpty, Seq: 7,
		Witness: format.Witness{Shard: 1, Link: format.Link{Seq: 2}}, Ends: format.Ends{Checkpoints: 3, Secrets: 4},
	}
}

// TestHeaderLevels: each optional field of a group's header has a level, and is left out below it.
// A bit without a level is refused: a new field needs a level of its own.
func TestHeaderLevels(t *testing.T) {
	t.Parallel()
	all := byte(0)
	for bit := byte(0x80); bit > kindBits; bit >>= 1 {
		level := format.LevelOf(bit)
		if level < 0 || level > format.HeaderLevel {
			t.Errorf("bit %#x has level %d of %d", bit, level, format.HeaderLevel)
		}
		if level > 0 {
			all |= bit
		}
		data := withAllFields().Encode()
		data[4] |= bit
		if _, err := format.ParseGroup(engine.Rehash(data)); (err == nil) != (level > 0) || err != nil && !errors.Is(err, format.ErrGroup) {
			t.Errorf("bit %#x of level %d: %v", bit, level, err)
		}
	}
	if has := withAllFields().Encode()[4] &^ kindBits; has != all {
		t.Errorf("a group with all fields has the bits %#x, want %#x", has, all)
	}
	for limit := range format.HeaderLevel + 1 {
		g, want := withAllFields(), byte(0)
		for bit := byte(0x80); bit > kindBits; bit >>= 1 {
			if level := format.LevelOf(bit); level > 0 && level <= limit {
				want |= bit
			}
		}
		g.Limit(limit)
		if has := g.Encode()[4] &^ kindBits; has != want {
			t.Errorf("with level %d a group has the bits %#x, want %#x", limit, has, want)
		}
	}
}

// older are nodes of which one reads a level of the header.
type older struct {
	eventstoretest.Nodes
	level *atomic.Int64
}

func (o older) ReadsHeader() int { return int(o.level.Load()) }

// TestHeadersForOlderNodes: while a live node reads an earlier level of the header only, no group
// has a field of a later one. Afterwards the groups have all fields.
func TestHeadersForOlderNodes(t *testing.T) {
	t.Parallel()
	var level atomic.Int64
	c := eventstoretest.Config(eventstoretest.Server(t, t.TempDir()))
	c.Shards = 1
	s, err := engine.Open(testContext(t), c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.ServeWith(older{level: &level})
	values, err := s.OpenSecrets(testContext(t))
	if err == nil {
		err = values.Create(testContext(t), "customer-key.acct.1", bytes.Repeat([]byte("x"), 64))
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		level int
		ends  bool
	}{{0, false}, {format.HeaderLevel, true}, {0, false}} {
		level.Store(int64(c.level))
		r := mustAdd(t, s, newKey(), added{N: 1}).Recorded
		err := s.Groups(testContext(t), 0, format.GroupOf(r.Seq), format.GroupOf(r.Seq), func(g *format.Group) error {
			if (g.Ends != format.Ends{}) != c.ends || !c.ends && g.Witness.Shard != format.NoShard {
				t.Errorf("with level %d: %+v, %+v", c.level, g.Ends, g.Witness)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestHeaderOfANewerBuild: a node of an older build that meets a field of a later level, after all
// nodes read that level, stops the shard, and does not start again. Both errors say that a newer
// version may have written the group: it is no damage.
func TestHeaderOfANewerBuild(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	l := newRawLogFor(t, true, 1)
	l.mixed(t)
	h := l.shards[0]
	s := l.open(t, func(*engine.Config) {})
	g := h.end
	g.Kind = engine.KindEmpty
	data := g.Encode()
	data[4] |= 0x20
	if code, err := engine.PublishGroup(testContext(t), l.nc, 0, h.segment, g.Seq, engine.Rehash(data)); code != 0 || err != nil {
		t.Fatal(code, err)
	}
	const why = "a newer version may have written it"
	eventually(t, time.Minute, "the shard is stopped", func() error {
		_, err := s.LastSeq(testContext(t), 0)
		if err == nil || !strings.Contains(err.Error(), why) || !slices.Equal(s.Damaged(), []int{0}) {
			return fmt.Errorf("damaged %v: %w", s.Damaged(), err)
		}
		return nil
	})
	if err := s.Healthy(); err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("the node says %v", err)
	}
	again, err := engine.Open(testContext(t), l.config)
	if err == nil {
		again.Close()
	}
	if !errors.Is(err, eventstore.ErrUnhealthy) || !strings.Contains(err.Error(), why) {
		t.Errorf("the next start: %v", err)
	}
}
