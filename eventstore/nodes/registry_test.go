package nodes_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"payledger/eventstore/clustertest"
	"payledger/eventstore/jetapi"
	"payledger/eventstore/nodes"
)

// link is a node's way to the servers. It can hold the node's beats back, and the answers of the
// servers. It can lose requests.
type link struct {
	mu    sync.Mutex
	away  bool
	conns []net.Conn
	lost  []string // subjects of the JetStream API whose next request is lost

	beats, answers gate
}

// lostRoot replaces the beginning of the subject of a lost request. Its listener never answers.
const apiRoot, lostRoot = "$JS.API.", "$NO.API."

// lose redirects a request that is to be lost.
func (l *link) lose(data []byte) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, subject := range l.lost {
		if bytes.Contains(data, []byte("PUB "+apiRoot+subject)) {
			l.lost = slices.Delete(l.lost, i, i+1)
			return bytes.Replace(data, []byte(apiRoot+subject), []byte(lostRoot+subject), 1)
		}
	}
	return data
}

// linked is one connection of a link.
type linked struct {
	net.Conn
	*link
}

func (l *link) Dial(network, address string) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.away {
		return nil, errors.New("cut")
	}
	c, err := net.Dial(network, address)
	if err == nil {
		l.conns = append(l.conns, c)
	}
	return linked{c, l}, err
}

func (c linked) Write(data []byte) (int, error) {
	if bytes.Contains(data, []byte("PUB payledger.nodes.")) {
		c.beats.pass()
	}
	return c.Conn.Write(c.lose(data))
}

func (c linked) Read(data []byte) (int, error) {
	n, err := c.Conn.Read(data)
	c.answers.pass()
	return n, err
}

func (l *link) cut(away bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.away = away; away {
		for _, c := range l.conns {
			c.Close()
		}
		l.conns = nil
	}
}

// gate lets everything pass until it is closed.
type gate struct {
	mu      sync.Mutex
	open    chan struct{} // nil: open
	waiting int
}

func (g *gate) pass() {
	g.mu.Lock()
	open := g.open
	if open == nil {
		g.mu.Unlock()
		return
	}
	g.waiting++
	g.mu.Unlock()
	<-open
	g.mu.Lock()
	g.waiting--
	g.mu.Unlock()
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = make(chan struct{})
}

// free lets all messages pass, the held ones too.
func (g *gate) free() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open != nil {
		close(g.open)
		g.open = nil
	}
}

// next lets the held messages pass, and no later ones.
func (g *gate) next() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.open)
	g.open = make(chan struct{})
}

func (g *gate) waits() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.waiting > 0
}

// testNode is a registry whose node applies the log when the test requires it.
type testNode struct {
	*nodes.Registry
	conn    *nats.Conn
	link    link
	skew    atomic.Int64  // of its clock
	day     atomic.Int64  // how far its time of day is ahead
	caught  chan struct{} // receives one value for each end of CatchUp
	mu      sync.Mutex
	failure error // of its views
	applied []uint64
	durable []uint64 // what it knows to be durable
	grown   chan struct{}
}

func (n *testNode) acknowledged() []uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.durable)
}

func (n *testNode) append(position ...uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.durable = position
}

func (n *testNode) position() []uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.applied)
}

func (n *testNode) apply(position ...uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.applied = position
	close(n.grown)
	n.grown = make(chan struct{})
}

func (n *testNode) waitFor(ctx context.Context, position []uint64) error {
	for {
		n.mu.Lock()
		there, grown := n.applied, n.grown
		n.mu.Unlock()
		if there[0] >= position[0] && there[1] >= position[1] {
			return nil
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (n *testNode) healthy() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.failure
}

func (n *testNode) fail(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.failure = err
}

// newNode starts a node whose clock is ahead of the machine's by a skew. The first requests for the
// lost subjects of the JetStream API do not reach the servers.
func newNode(t *testing.T, c *clustertest.Cluster, id string, skew time.Duration, lost ...string) *testNode {
	t.Helper()
	return newTestNode(t, c, id, skew, func(*nodes.Config) {}, lost...)
}

// newNodeOf starts a node with a changed record.
func newNodeOf(t *testing.T, c *clustertest.Cluster, id string, change func(*nodes.Record)) *testNode {
	t.Helper()
	return newTestNode(t, c, id, 0, func(c *nodes.Config) { change(&c.Self) })
}

func newTestNode(t *testing.T, c *clustertest.Cluster, id string, skew time.Duration, change func(*nodes.Config), lost ...string) *testNode {
	t.Helper()
	var readTime time.Duration
	if len(lost) > 0 {
		readTime = 500 * time.Millisecond // a lost request ends by it
	}
	n := &testNode{link: link{lost: lost}, caught: make(chan struct{}), applied: []uint64{0, 0}, durable: []uint64{0, 0}, grown: make(chan struct{})}
	n.skew.Store(int64(skew))
	nc, err := nats.Connect(c.URL(clustertest.User), append(jetapi.Options(), nats.SetCustomDialer(&n.link))...)
	if err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	n.conn = nc
	api := &jetapi.Client{Conn: nc, JS: js, Replicas: len(c.Servers)}
	if err := api.OpenReaders(1, func() (*nats.Conn, error) { return nc, nil }); err != nil {
		t.Fatal(err)
	}
	config := nodes.Config{
		API: api, Self: nodes.Record{Node: id, Address: "http://" + id, Build: nodes.Build{Version: "v1", Schemas: map[string]int{"payment": 6}}},
		Applied: n.position, Acknowledged: n.acknowledged, WaitFor: n.waitFor, Healthy: n.healthy, Settle: func() {},
		CatchUp: func(ctx context.Context) error {
			select {
			case n.caught <- struct{}{}:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		},
		Clock:  func() time.Duration { return nodes.Clock() + time.Duration(n.skew.Load()) },
		Now:    func() time.Time { return time.Now().Add(time.Duration(n.day.Load())) },
		Logger: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel),
		// The leases of busy tests must not end by themselves: the tests move the clocks.
		Beat: 100 * time.Millisecond, Lease: 9 * time.Hour, Silence: 10 * time.Hour, ReadTime: readTime,
	}
	change(&config)
	if n.Registry, err = nodes.Open(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		n.link.cut(false)
		n.link.beats.free()
		n.link.answers.free()
		n.Close(context.Background())
		api.Close()
	})
	return n
}

// serve makes the node serve.
func (n *testNode) serve(t *testing.T) {
	t.Helper()
	served := make(chan error, 1)
	go func() { served <- n.Serve(t.Context()) }()
	<-n.caught
	if err := <-served; err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	deadline, again := time.After(time.Minute), time.NewTicker(5*time.Millisecond)
	defer again.Stop()
	for !is() {
		select {
		case <-deadline:
			t.Fatal("not seen: " + what)
		case <-again.C:
		}
	}
}

func states(r *nodes.Registry) map[string]nodes.State {
	all := map[string]nodes.State{}
	for _, record := range r.Live() {
		all[record.Node] = record.State
	}
	return all
}

// TestAwait: Await returns when every serving node has applied the position. Nodes that start do
// not count, and a node that left does not.
func TestAwait(t *testing.T) {
	t.Parallel()
	c := clustertest.Start(t, 3, nil).Formed(t)
	a, b := newNode(t, c, "a", 0), newNode(t, c, "b", 40*time.Hour)
	starting := newNode(t, c, "starting", -time.Hour)
	a.serve(t)
	b.serve(t)
	if err := starting.Valid(); !errors.Is(err, nodes.ErrCutOff) {
		t.Errorf("a starting node may serve: %v", err)
	}
	a.apply(7, 0)
	done := make(chan error, 1)
	go func() { done <- a.Await(t.Context(), []uint64{7, 0}) }()
	eventually(t, "b at 6", func() bool {
		b.apply(6, 9)
		all := a.Live()
		return len(all) == 3 && all[1].Node == "b" && slices.Equal(all[1].Applied, []uint64{6, 9}) && all[1].Build.Schemas["payment"] == 6
	})
	select {
	case err := <-done:
		t.Fatalf("Await did not wait for b: %v", err)
	default:
	}
	b.apply(7, 9)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if a.Serving() != 2 {
		t.Errorf("%d nodes serve", a.Serving())
	}
	b.Close(t.Context())
	a.apply(8, 0)
	if err := a.Await(t.Context(), []uint64{8, 0}); err != nil {
		t.Fatal(err)
	}
	if got := states(a.Registry); len(got) != 2 || got["starting"] != nodes.Starting {
		t.Errorf("nodes: %v", got)
	}
}

// TestHurry: a node reports a position that another node waits for as soon as it has applied it,
// and not with a later beat.
func TestHurry(t *testing.T) {
	t.Parallel()
	c := clustertest.Start(t, 1, nil)
	a, b := newNode(t, c, "a", 0), newTestNode(t, c, "b", 0, func(c *nodes.Config) { c.Beat = time.Hour })
	a.serve(t)
	b.serve(t)
	a.apply(7, 0)
	done := make(chan error, 1)
	go func() { done <- a.Await(t.Context(), []uint64{7, 0}) }()
	eventually(t, "b knows that a waits", func() bool { return b.Owes() > 0 })
	b.apply(7, 0)
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("b has not reported the position")
	}
}

// TestCutOff: a node that is cut off has no lease by the time at which the others stop waiting for
// it. It serves again after it has applied the log. The clocks of the nodes are far apart.
func TestCutOff(t *testing.T) {
	t.Parallel()
	c := clustertest.Start(t, 3, nil).Formed(t)
	a, b := newNode(t, c, "a", 0), newNode(t, c, "b", 365*24*time.Hour)
	a.serve(t)
	b.serve(t)
	b.link.cut(true)
	a.apply(7, 7)
	done := make(chan error, 1)
	go func() { done <- a.Await(t.Context(), []uint64{0, 7}) }()
	ahead := func(n *testNode, by time.Duration) { n.skew.Add(int64(by)) }
	ahead(a, 9*time.Hour)
	eventually(t, "a renews its lease", func() bool { return a.Valid() == nil })
	if err := b.Valid(); err != nil {
		t.Fatalf("b has no lease before its time: %v", err)
	}
	ahead(b, 9*time.Hour)
	if err := b.Valid(); !errors.Is(err, nodes.ErrCutOff) {
		t.Fatalf("b has a lease after its time: %v", err)
	}
	select {
	case err := <-done:
		t.Fatalf("Await did not wait for b: %v", err)
	default:
	}
	eventually(t, "a does not wait for b", func() bool {
		ahead(a, 10*time.Hour) // each time: a may have read the last record of b only just now
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			return true
		default:
			return false
		}
	})
	eventually(t, "a renews its lease", func() bool { return a.Valid() == nil })
	b.link.cut(false)
	eventually(t, "b joins again", func() bool {
		return states(a.Registry)["b"] == nodes.Serving && states(b.Registry)["a"] == nodes.Serving
	})
	if err := b.Valid(); !errors.Is(err, nodes.ErrCutOff) {
		t.Fatalf("b serves before it has applied the log: %v", err)
	}
	<-b.caught
	eventually(t, "b serves", func() bool { return b.Valid() == nil })
}

// TestLostRequests: a node joins and awaits others although requests get no answer, as in an
// election of the servers.
func TestLostRequests(t *testing.T) {
	t.Parallel()
	c := clustertest.Start(t, 3, nil).Formed(t)
	requests := make(chan *nats.Msg, 16)
	for _, server := range c.Servers { // the interest of another server's client is known later
		silent, err := nats.Connect(clustertest.At(clustertest.User, server.Addr()))
		if err != nil {
			t.Fatal(err)
		}
		defer silent.Close()
		_, err = silent.ChanQueueSubscribe(lostRoot+">", "silent", requests)
		if err == nil {
			err = silent.Flush()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	n := newNode(t, c, "a", 0, "STREAM.CREATE."+nodes.Stream, "STREAM.INFO."+nodes.Stream)
	n.serve(t)
	n.link.mu.Lock()
	n.link.lost = append(n.link.lost, "STREAM.INFO."+nodes.Stream)
	n.link.mu.Unlock()
	patient, cancel := context.WithTimeout(t.Context(), time.Hour) // nats.go itself limits a request without a deadline
	defer cancel()
	if err := n.Await(patient, []uint64{0, 0}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		select {
		case <-requests:
		default:
			t.Fatal("no request was lost")
		}
	}
}

// TestShortCut: a short cut changes nothing: the node keeps its record, and does not apply the log
// again.
func TestShortCut(t *testing.T) {
	t.Parallel()
	c := clustertest.Start(t, 3, nil).Formed(t)
	a, b := newNode(t, c, "a", 0), newNode(t, c, "b", 0)
	a.serve(t)
	b.serve(t)
	b.link.cut(true)
	b.apply(3, 3)
	b.skew.Add(int64(10 * time.Hour))
	if err := b.Valid(); !errors.Is(err, nodes.ErrCutOff) {
		t.Fatalf("b has a lease after its time: %v", err)
	}
	b.link.cut(false)
	eventually(t, "b serves", func() bool { return b.Valid() == nil })
	a.apply(3, 3)
	if err := a.Await(t.Context(), []uint64{3, 3}); err != nil {
		t.Fatal(err)
	}
}

// TestServesByItsRecord: a node that joins answers no request before its record says that it
// serves: until then other nodes do not wait for it.
func TestServesByItsRecord(t *testing.T) {
	t.Parallel()
	c := clustertest.Start(t, 3, nil).Formed(t)
	n := newNode(t, c, "a", 0)
	n.link.beats.shut()
	eventually(t, "a beat on its way, which says that the node starts", n.link.beats.waits)
	served := make(chan error, 1)
	go func() { served <- n.Serve(t.Context()) }()
	eventually(t, "the node wants to serve", n.Wanted)
	n.link.beats.next()
	eventually(t, "the next beat", n.link.beats.waits)
	select {
	case <-n.caught:
		eventually(t, "the node serves", func() bool { return n.Valid() == nil })
		t.Error("the node serves, and its record says that it starts")
	default:
	}
	n.link.beats.free()
	<-n.caught
	if err := <-served; err != nil {
		t.Fatal(err)
	}
}

// TestLeavesAfterLostAnswer: a node that leaves ends its record, although its last beat was stored
// without an answer.
func TestLeavesAfterLostAnswer(t *testing.T) {
	t.Parallel()
	c := clustertest.Start(t, 3, nil).Formed(t)
	a, b := newNode(t, c, "a", 0), newNode(t, c, "b", 0)
	a.serve(t)
	b.serve(t)
	b.link.answers.shut()
	b.apply(5, 5)
	eventually(t, "a beat of b that is stored", func() bool {
		all := a.Live()
		return len(all) == 2 && slices.Equal(all[1].Applied, []uint64{5, 5})
	})
	b.link.cut(true)
	b.link.answers.free()
	left := make(chan struct{})
	go func() { b.Close(t.Context()); close(left) }()
	eventually(t, "b leaves", func() bool { return b.Valid() != nil })
	b.link.cut(false)
	<-left
	a.apply(6, 6)
	if err := a.Await(t.Context(), []uint64{6, 6}); err != nil {
		t.Fatal(err)
	}
	if got := states(a.Registry); len(got) != 1 {
		t.Errorf("nodes: %v", got)
	}
}

// TestViewsStopped: a node whose views stopped stops serving, with the reason. Other nodes do not
// wait for it.
func TestViewsStopped(t *testing.T) {
	t.Parallel()
	c := clustertest.Start(t, 3, nil).Formed(t)
	a, b := newNode(t, c, "a", 0), newNode(t, c, "b", 0)
	a.serve(t)
	b.serve(t)
	stopped := errors.New("a poison event")
	b.fail(stopped)
	if err := b.Valid(); !errors.Is(err, nodes.ErrUnfit) || !errors.Is(err, stopped) {
		t.Fatalf("b serves without views: %v", err)
	}
	a.apply(7, 7)
	if err := a.Await(t.Context(), []uint64{7, 7}); err != nil {
		t.Fatal(err)
	}
	if got := states(a.Registry)["b"]; got != nodes.Starting || a.Serving() != 1 {
		t.Errorf("b is %s, %d nodes serve", got, a.Serving())
	}
}

// TestViewsBehind: a node that another node waits for gives up its lease when Lease is over, and
// serves again after it has applied the log.
func TestViewsBehind(t *testing.T) {
	t.Parallel()
	c := clustertest.Start(t, 3, nil).Formed(t)
	a, b := newNode(t, c, "a", 0), newNode(t, c, "b", 0)
	a.serve(t)
	b.serve(t)
	a.apply(7, 7)
	done := make(chan error, 1)
	go func() { done <- a.Await(t.Context(), []uint64{7, 0}) }()
	eventually(t, "b knows that a waits", func() bool { return b.Owes() > 0 })
	b.skew.Add(int64(9*time.Hour - time.Minute))
	b.apply(6, 9)
	eventually(t, "a newer beat of b", func() bool { return slices.Equal(a.Live()[1].Applied, []uint64{6, 9}) })
	if err := b.Valid(); err != nil {
		t.Fatalf("b has no lease before its time: %v", err)
	}
	select {
	case err := <-done:
		t.Fatalf("Await did not wait for b: %v", err)
	default:
	}
	b.skew.Add(int64(2 * time.Minute))
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if err := b.Valid(); !errors.Is(err, nodes.ErrUnfit) {
		t.Fatalf("b serves, and a did not wait for it: %v", err)
	}
	b.apply(7, 9)
	<-b.caught
	eventually(t, "b serves", func() bool { return b.Valid() == nil && states(a.Registry)["b"] == nodes.Serving })
}

// TestReadsHeader: a group's header has the level that every live node reads. A build that does not
// say its level reads the first one.
func TestReadsHeader(t *testing.T) {
	t.Parallel()
	c := clustertest.Start(t, 3, nil).Formed(t)
	of := func(level int) func(*nodes.Record) { return func(r *nodes.Record) { r.Build.Header = level } }
	a := newNodeOf(t, c, "a", of(3))
	if level := a.ReadsHeader(); level != 3 {
		t.Errorf("alone it is %d", level)
	}
	b := newNodeOf(t, c, "b", of(2))
	eventually(t, "b", func() bool { return a.ReadsHeader() == 2 })
	early := newNodeOf(t, c, "early", of(0))
	eventually(t, "early", func() bool { return a.ReadsHeader() == 1 && b.ReadsHeader() == 1 })
	early.Close(t.Context())
	eventually(t, "early has left", func() bool { return a.ReadsHeader() == 2 && b.ReadsHeader() == 2 })
}
