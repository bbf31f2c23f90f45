package ownertest

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/embedded"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/format"
	"payledger/eventstore/handover"
	"payledger/eventstore/ownership"
	"payledger/eventstore/streams"
)

// takeover is the most time in which a shard gets a new owner.
const takeover = 2500 * time.Millisecond

// TestMain: the tests run one after the other: see play.
func TestMain(m *testing.M) {
	flag.Parse()
	format.MakeEncoders(64)
	m.Run()
}

// play plays a world of some nodes in a bubble. Timers of the NATS client and of the server rest in
// pools of the process. A timer must not leave the bubble in which it was made: the pools are
// emptied, which takes two collections of garbage.
func play(t *testing.T, nodes, shards int, script func(*world)) {
	t.Helper()
	empty := func() { runtime.GC(); runtime.GC() }
	empty()
	defer empty()
	synctest.Test(t, func(t *testing.T) { script(newWorld(t, nodes, shards)) })
}

// world is a log with the nodes that share it.
type world struct {
	t       testing.TB
	server  nats.Options // of a connection to the server
	nodes   []*node
	shards  int
	watcher *nats.Conn

	moments atomic.Int64 // of the beginnings and ends of calls
	mu      sync.Mutex
	calls   []*call
}

// node is one process of the cluster.
type node struct {
	*link
	w     *world
	name  string
	store *engine.Store
	clock clock

	patience time.Duration // of its callers
}

func newWorld(t testing.TB, nodes, shards int) *world {
	server, err := embedded.Start(embedded.Config{Dir: t.TempDir(), Name: "test", Unsynced: true})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, shards: shards}
	if w.watcher, err = server.Connect(func(o *nats.Options) error { w.server = *o; return nil }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.watcher.Close()
		// The server's end sleeps with its locks held. A request that waits for one of them
		// meanwhile would stop the bubble's time for good.
		synctest.Wait()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	for range nodes {
		w.start()
	}
	w.serve(w.nodes...)
	return w
}

// start starts one more node.
func (w *world) start() *node {
	n := &node{w: w, link: newLink(w.server), patience: 10 * time.Second}
	n.clock.set(1, 1)
	c := eventstoretest.ConfigAt("nats://inside")
	c.Shards, c.Clock = w.shards, n.clock.read
	c.Options = []nats.Option{n.through, nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})} // else it prints the ends of connections
	var err error
	if n.store, err = engine.Open(w.t.Context(), c); err != nil {
		w.t.Fatal(err)
	}
	n.name = n.store.Node()
	w.t.Cleanup(func() { _ = n.store.Close() }) // it may have lost its server
	w.nodes = append(w.nodes, n)
	return n
}

// serve lets all nodes know the nodes that serve.
func (w *world) serve(nodes ...*node) {
	names := []string{}
	for _, n := range nodes {
		names = append(names, n.name)
	}
	for _, n := range w.nodes {
		n.store.ServeWith(eventstoretest.Nodes{Serving: names})
	}
}

// pass lets time pass, and everything that is due in it happen.
func (w *world) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// clock is the clock of a node: it has a rate, and the time of day has another one.
type clock struct {
	mu            sync.Mutex
	since         time.Time // of the bubble
	at            ownership.Reading
	rate, dayRate float64
}

func (c *clock) read() ownership.Reading {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now()
}

func (c *clock) now() ownership.Reading {
	passed := float64(time.Since(c.since))
	return ownership.Reading{Up: c.at.Up + time.Duration(c.rate*passed), Day: c.at.Day.Add(time.Duration(c.dayRate * passed))}
}

// set sets how fast the clock and the time of day go from now on. 1 is the bubble's time.
func (c *clock) set(rate, dayRate float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.since.IsZero() {
		c.since, c.at.Day = time.Now(), time.Now()
	}
	c.at, c.since, c.rate, c.dayRate = c.now(), time.Now(), rate, dayRate
}

// jump sets clock and time of day forward.
func (c *clock) jump(up, day time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at.Up, c.at.Day = c.at.Up+up, c.at.Day.Add(day)
}

// group is a group in the log.
type group struct {
	format.Writer
	events int
}

// groups returns the groups of a shard.
func (w *world) groups(shard int) (all []group) {
	w.t.Helper()
	js, err := w.watcher.JetStream()
	if err != nil {
		w.t.Fatal(err)
	}
	for seq := uint64(1); ; seq++ {
		m, err := js.GetMsg(streams.Name(shard, 1), seq)
		if errors.Is(err, nats.ErrMsgNotFound) {
			return all
		}
		if err != nil {
			w.t.Fatal(err)
		}
		g, err := format.ParseGroup(m.Data)
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, group{handover.WriterOf(m.Header), len(g.Frames)})
	}
}

// owner returns the node that the newest group names which is no visitor's, and its next.
func (w *world) owner(shard int) (owner, next string) {
	for _, g := range w.groups(shard) {
		if !g.Visitor {
			owner, next = g.Node, g.Next
		}
	}
	return owner, next
}

// named is a node in messages of a test: its place among the nodes.
func (w *world) named(name string) string {
	for i, n := range w.nodes {
		if n.name == name {
			return string(rune('a' + i))
		}
	}
	return strconv.Quote(name)
}

// sum is the tests' own aggregate: it counts its events.
type (
	sum struct {
		Count uint64 `json:"count"`
	}
	added struct {
		Call int64 `json:"call"`
	}
)

func (added) Type() string { return "sum.added" }

var sums = format.NewAggregate("sum", 1, []added{{}}, func(s sum, _ added) sum { s.Count++; return s })

// newKey names a new aggregate in a shard.
func (w *world) newKey(shard int) eventstore.Key {
	for {
		var b [16]byte
		_, _ = rand.Read(b[:]) // it never fails
		if key := sums.Key("acct", string(domain.NewToken(b))); w.nodes[0].store.ShardOf(key) == shard {
			return key
		}
	}
}

// call is one call of a caller, and its answer.
type call struct {
	node     *node
	key      eventstore.Key
	adds     bool
	from, to int64 // moments
	err      error
	count    uint64 // of the events, with its own
}

func (c *call) String() string {
	what := "reads"
	if c.adds {
		what = "adds"
	}
	return fmt.Sprintf("%d–%d: %s %s %d, %v", c.from, c.to, c.node.w.named(c.node.name), what, c.count, c.err)
}

// add adds an event to an aggregate.
func (n *node) add(key eventstore.Key) *call {
	return n.call(&call{node: n, key: key, adds: true}, func(ctx context.Context, c *call) (eventstore.Tip[sum], error) {
		meta, err := n.store.NewMeta("tester", "test")
		if err != nil {
			return eventstore.Tip[sum]{}, err
		}
		return eventstore.Execute(ctx, n.store, sums, key, meta, func(sum) (added, error) { return added{c.from}, nil })
	})
}

// read reads everything that was acknowledged.
func (n *node) read(key eventstore.Key) *call {
	return n.call(&call{node: n, key: key}, func(ctx context.Context, _ *call) (eventstore.Tip[sum], error) {
		return eventstore.Load(ctx, n.store, sums, key, eventstore.Latest)
	})
}

func (n *node) call(c *call, do func(context.Context, *call) (eventstore.Tip[sum], error)) *call {
	ctx, cancel := context.WithTimeout(context.Background(), n.patience)
	defer cancel()
	c.from = n.w.moments.Add(1)
	tip, err := do(ctx, c)
	c.to, c.err, c.count = n.w.moments.Add(1), err, tip.State.Count
	n.w.mu.Lock()
	defer n.w.mu.Unlock()
	n.w.calls = append(n.w.calls, c)
	return c
}

// must ends the test after a call that failed.
func (c *call) must() *call {
	c.node.w.t.Helper()
	if c.err != nil {
		c.node.w.t.Fatal(c)
	}
	return c
}
