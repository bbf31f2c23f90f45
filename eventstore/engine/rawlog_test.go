package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"payledger/eventstore"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/format"
)

// rawLog is a log whose groups a test writes without a store, in any size.
type rawLog struct {
	config engine.Config // of a store on it
	nc     *nats.Conn
	maker  *engine.Store // closed: it only knows the log's id and its shards
	shards []*rawShard
	began  time.Time
	count  int64
}

// rawShard is a shard's end, and its events.
type rawShard struct {
	n       int
	segment uint32
	end     engine.Group // as the next group: Seq, Before, Events, Aggregates
	tips    map[eventstore.Key]*eventstore.Recorded
	all     []*eventstore.Recorded
}

// newRawLog makes an empty log of some shards on an embedded server.
func newRawLog(t testing.TB, shards int) *rawLog {
	t.Helper()
	return newRawLogOn(t, eventstoretest.Config(eventstoretest.Server(t, t.TempDir())), shards)
}

// newRawLogFor makes an empty log in a cluster, or on an embedded server.
func newRawLogFor(t testing.TB, cluster bool, shards int) *rawLog {
	t.Helper()
	if cluster {
		return newRawLogOn(t, eventstoretest.Cluster(t), shards)
	}
	return newRawLog(t, shards)
}

func newRawLogOn(t testing.TB, c engine.Config, shards int) *rawLog {
	t.Helper()
	c.Shards = shards
	s, err := engine.Open(testContext(t), c)
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	nc, err := connectBy(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	l := &rawLog{config: c, nc: nc, maker: s, began: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)}
	for n := range shards {
		l.shards = append(l.shards, &rawShard{n: n, segment: 1, tips: map[eventstore.Key]*eventstore.Recorded{}, end: engine.Group{
			Shard: n, Log: s.ID(), Seq: 1, WitnessShard: (n + 1) % shards,
		}})
	}
	return l
}

// frames makes one event of each of the aggregates, in this order, for the shard's next group. Each
// is a second later than the one before.
func (l *rawLog) frames(t testing.TB, h *rawShard, keys ...eventstore.Key) (all []*eventstore.Recorded) {
	t.Helper()
	within := map[eventstore.Key]*eventstore.Recorded{}
	for i, key := range keys {
		tip := h.tips[key]
		if within[key] != nil {
			tip = within[key]
		}
		l.count++
		meta := newMeta(t, l.maker)
		meta.At = l.began.Add(time.Duration(l.count) * time.Second)
		r, err := engine.Draft(l.maker, tallies, key, tip, meta, added{N: l.count, Who: fmt.Sprint(l.count)})
		if err != nil {
			t.Fatal(err)
		}
		r.Seq = format.At(h.end.Seq, i)
		within[key] = r
		all = append(all, r)
	}
	return all
}

// put appends a group with one event of each of the aggregates; without any it is an empty group.
func (l *rawLog) put(t testing.TB, h *rawShard, keys ...eventstore.Key) {
	t.Helper()
	g := h.end
	g.Frames = l.frames(t, h, keys...)
	if len(keys) == 0 {
		g.Kind = engine.KindEmpty
	}
	l.publish(t, h, &g)
}

// closing appends a closing group that names the next segment.
func (l *rawLog) closing(t testing.TB, h *rawShard) {
	t.Helper()
	g := h.end
	g.Kind, g.Next = engine.KindClosing, h.segment+1
	l.publish(t, h, &g)
	h.segment++
}

// publish appends a group as it is, and goes on behind it.
func (l *rawLog) publish(t testing.TB, h *rawShard, g *engine.Group) {
	t.Helper()
	data := g.Encode()
	eventually(t, time.Minute, "the stream has a leader", func() error {
		code, err := engine.PublishGroup(testContext(t), l.nc, h.n, h.segment, g.Seq, data)
		if err == nil && code != 0 || err != nil && !errors.Is(err, nats.ErrNoResponders) {
			t.Fatal(code, err)
		}
		return err
	})
	h.end.Before, h.end.Seq = g.Hash, g.Seq+1
	for _, r := range g.Frames {
		h.end.Events++
		if r.Revision == 1 {
			h.end.Aggregates++
		}
		h.tips[r.Key] = r
		h.all = append(h.all, r)
	}
}

// keys names new aggregates of a shard.
func (l *rawLog) keys(shard, n int) (all []eventstore.Key) {
	for range n {
		all = append(all, keyIn(l.maker, shard))
	}
	return all
}

// mixed fills every shard with groups of 1, of 2 of the same aggregate, of 64 and 256, and empty
// ones in between.
func (l *rawLog) mixed(t testing.TB) {
	t.Helper()
	for n, h := range l.shards {
		some := l.keys(n, 10)
		l.put(t, h, some[0])
		l.put(t, h, some[1], some[1])
		l.put(t, h)
		l.put(t, h, slices.Repeat(some, 7)[:64]...)
		l.put(t, h)
		l.put(t, h)
		l.put(t, h, some[1], some[1])
		l.put(t, h, l.keys(n, 256)...)
		l.put(t, h, some[0])
		l.put(t, h)
	}
}

// open opens a store on the log.
func (l *rawLog) open(t testing.TB, change func(*engine.Config)) *engine.Store {
	t.Helper()
	c := l.config
	change(&c)
	return eventstoretest.OpenOn(t, c)
}

// refuses expects that a store on the log does not open, because the log is damaged.
func (l *rawLog) refuses(t testing.TB) {
	t.Helper()
	s, err := engine.Open(testContext(t), l.config)
	if err == nil {
		s.Close()
	}
	if !errors.Is(err, eventstore.ErrUnhealthy) {
		t.Errorf("opened with: %v", err)
	}
}
