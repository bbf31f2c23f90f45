package nodes_test

import (
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

// link is a node's way to the servers.
type link struct {
	mu    sync.Mutex
	away  bool
	conns []net.Conn
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
	return c, err
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

// testNode is a registry whose node applies the log when the test says so.
type testNode struct {
	*nodes.Registry
	link    link
	skew    atomic.Int64  // of its clock
	caught  chan struct{} // receives one value for each end of CatchUp
	mu      sync.Mutex
	applied []uint64
	grown   chan struct{}
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

// newNode starts a node whose clock is ahead of the machine's by a skew.
func newNode(t *testing.T, c *clustertest.Cluster, id string, skew time.Duration) *testNode {
	t.Helper()
	n := &testNode{caught: make(chan struct{}), applied: []uint64{0, 0}, grown: make(chan struct{})}
	n.skew.Store(int64(skew))
	nc, err := nats.Connect(c.URL(clustertest.User), append(jetapi.Options(), nats.SetCustomDialer(&n.link))...)
	if err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	api := &jetapi.Client{Conn: nc, Replicas: 3}
	if err := api.OpenReaders(1, func() (*nats.Conn, error) { return nc, nil }); err != nil {
		t.Fatal(err)
	}
	n.Registry, err = nodes.Open(t.Context(), nodes.Server{JS: js, API: api}, nodes.Config{
		Self:    nodes.Record{Node: id, Address: "http://" + id, Build: nodes.Build{Version: "v1", Schemas: map[string]int{"payment": 6}}},
		Applied: n.position, WaitFor: n.waitFor,
		CatchUp: func(ctx context.Context) error {
			select {
			case n.caught <- struct{}{}:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		},
		Clock:  func() time.Duration { return nodes.Clock() + time.Duration(n.skew.Load()) },
		Logger: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel),
		// The leases of busy tests must not end by themselves: the tests move the clocks.
		Beat: 100 * time.Millisecond, Lease: 9 * time.Hour, Silence: 10 * time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		n.link.cut(false)
		if err := n.Close(); err != nil {
			t.Error(err)
		}
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

// Await returns when every serving node has applied the position. Nodes that start do not count, and a node that left does not.
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
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	a.apply(8, 0)
	if err := a.Await(t.Context(), []uint64{8, 0}); err != nil {
		t.Fatal(err)
	}
	if got := states(a.Registry); len(got) != 2 || got["starting"] != nodes.Starting {
		t.Errorf("nodes: %v", got)
	}
}

// A node that is cut off has no lease by the time at which the others stop waiting for it. It serves again after it has applied the log.
// The clocks of the nodes are far apart.
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
	ahead(a, 10*time.Hour) // a may have read the last record of b only just now
	if err := <-done; err != nil {
		t.Fatal(err)
	}
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

// A short cut changes nothing: the node keeps its record, and does not apply the log again.
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
