package engine_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"payledger/domain"
	"payledger/domain/seedtest"
	"payledger/eventstore"
	"payledger/eventstore/clustertest"
	"payledger/eventstore/embedded"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/format"
	"payledger/eventstore/nodes"
	"payledger/eventstore/ownership"
)

func TestMain(m *testing.M) {
	seedtest.Slow()
	flag.Parse()
	eventstoretest.AtOnce(8, 3)
	m.Run()
}

// rig is a log on real servers in the test's process.
type rig struct {
	nodes   []*node
	proxies [][]*proxy // of a cluster; proxies[i][j]: the route that node i dials to node j
	shards  int
	whole   testing.TB // the nodes of a cluster end with it, also those that a part of the test started again
}

// node is one server with a store on it.
type node struct {
	dir    string
	server *embedded.Server // nil in a cluster
	member *server.Server   // of a cluster; else nil
	store  *engine.Store
	ahead  atomic.Int64 // of the machine's clock, in nanoseconds
}

// stop ends the node's server.
func (n *node) stop() {
	if n.server != nil {
		n.server.Close()
		return
	}
	n.member.Shutdown()
	n.member.WaitForShutdown()
}

// clock is the clock of the node's leases.
func (n *node) clock() ownership.Reading {
	ahead := time.Duration(n.ahead.Load())
	return ownership.Reading{Up: nodes.Clock() + ahead, Day: time.Now().Add(ahead)}
}

// config is what stores on the node's server are opened with.
func (n *node) config() engine.Config {
	if n.server != nil {
		return eventstoretest.Config(n.server)
	}
	return eventstoretest.ConfigAt(at(n.member.Addr().String()))
}

// store is the writer of most tests. other is on another node, if there is one.
func (r *rig) store() *engine.Store { return r.nodes[0].store }
func (r *rig) other() *engine.Store { return r.nodes[len(r.nodes)-1].store }

// sole is one embedded server and its only writer, which remembers its appended events.
func sole(t testing.TB, shards int) *rig {
	t.Helper()
	dir := t.TempDir()
	n := &node{dir: dir, server: eventstoretest.Server(t, dir)}
	c := n.config()
	c.Shards = shards
	n.store = eventstoretest.OpenOn(t, c)
	return &rig{shards: shards, nodes: []*node{n}}
}

// cluster is three servers whose routes go through proxies, with every stream on all three, and a
// store on each.
func cluster(t testing.TB, shards int) *rig {
	t.Helper()
	r := &rig{shards: shards, whole: t}
	for i := range 3 {
		r.nodes = append(r.nodes, &node{dir: t.TempDir()})
		r.proxies = append(r.proxies, nil)
		for range 3 {
			r.proxies[i] = append(r.proxies[i], newProxy(t, ""))
		}
	}
	for i := range r.nodes {
		r.start(t, i)
	}
	for i := range r.nodes {
		r.open(t, i)
	}
	return r
}

// nowhere is the address that the servers send each other, so that routes use only the proxies.
const nowhere = "127.0.0.1:1"

// start starts node i's server. In a cluster it leads the routes of the others to it.
func (r *rig) start(t testing.TB, i int) {
	t.Helper()
	n := r.nodes[i]
	if r.proxies == nil {
		n.server = eventstoretest.Server(t, n.dir)
		return
	}
	var routes []string
	for j := range r.nodes {
		if j != i {
			routes = append(routes, r.proxies[i][j].Addr())
		}
	}
	n.member = clustertest.StartServer(r.whole, member(t, n.dir, "n"+strconv.Itoa(i), routes))
	r.join(i)
}

// open opens node i's store as soon as the cluster answers.
func (r *rig) open(t testing.TB, i int) {
	t.Helper()
	c := r.nodes[i].config()
	c.Shards, c.Clock = r.shards, r.nodes[i].clock
	eventually(t, 2*time.Minute, "JetStream has a leader", func() error { return hasLeader(r.nodes[i].member) })
	r.nodes[i].store = openWhenReady(r.whole, c)
}

// openWhenReady opens a store as soon as the cluster answers.
func openWhenReady(t testing.TB, c engine.Config) (store *engine.Store) {
	t.Helper()
	eventually(t, 2*time.Minute, "the cluster opens", func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		var err error
		store, err = engine.Open(ctx, c)
		return err
	})
	t.Cleanup(func() { store.Close() })
	return store
}

// leave cuts node i off from the others; join lets it back.
func (r *rig) leave(i int) {
	for j := range r.nodes {
		r.proxies[i][j].Cut()
		r.proxies[j][i].Cut()
	}
}

// silence loses everything between node i and the others, until join.
func (r *rig) silence(i int) {
	for j := range r.nodes {
		r.proxies[i][j].Silence()
		r.proxies[j][i].Silence()
	}
}

func (r *rig) join(i int) {
	for j := range r.nodes {
		r.proxies[i][j].Heal("")
		r.proxies[j][i].Heal(r.nodes[i].member.ClusterAddr().String())
	}
}

// leader is the node that leads the stream.
func (r *rig) leader(t testing.TB, stream string) int {
	t.Helper()
	leader := -1
	eventually(t, 2*time.Minute, stream+" has a leader", func() error {
		for i, n := range r.nodes {
			if leads(n.member, stream) {
				leader = i
				return nil
			}
		}
		return fmt.Errorf("none")
	})
	return leader
}

// moveLeader makes a node the leader of a stream.
func (r *rig) moveLeader(t testing.TB, stream string, to int) {
	t.Helper()
	nc := r.connect(t, to)
	request := fmt.Sprintf(`{"placement":{"preferred":"n%d"}}`, to)
	eventually(t, time.Minute, stream+" is led by the node", func() error {
		if leads(r.nodes[to].member, stream) {
			return nil
		}
		_, err := nc.Request("$JS.API.STREAM.LEADER.STEPDOWN."+stream, []byte(request), time.Second)
		return errors.Join(errors.New("not yet"), err)
	})
}

// eventually repeats check until it passes, because the server gives no signal.
func eventually(t testing.TB, within time.Duration, what string, check func() error) {
	t.Helper()
	deadline := time.After(within)
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("%s: not within %s: %v", what, within, err)
		case <-again.C:
		}
	}
}

// testContext ends with the test, and long before the test binary's own limit.
func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// The tests' own aggregate adds numbers.
type (
	tally struct {
		Count int64    `json:"count"`
		Sum   int64    `json:"sum"`
		Who   []string `json:"who,omitempty"`
	}
	added struct {
		N   int64  `json:"n"`
		Who string `json:"who"`
	}
)

func (added) Type() string { return "tally.added" }

var tallies = format.NewAggregate("tally", 1, []added{{}}, addUp)

func addUp(s tally, e added) tally {
	s.Count++
	s.Sum += e.N
	return s
}

// newKey names a tally that does not exist.
func newKey() eventstore.Key {
	var b [16]byte
	rand.Read(b[:])
	return tallies.Key("acct", string(domain.NewToken(b)))
}

// keyIn names a new tally in the shard.
func keyIn(s *engine.Store, shard int) eventstore.Key {
	for {
		if key := newKey(); s.ShardOf(key) == shard {
			return key
		}
	}
}

func newMeta(t testing.TB, s *engine.Store) eventstore.Meta {
	t.Helper()
	meta, err := s.NewMeta("tester", "test")
	if err != nil {
		t.Error(err)
	}
	return meta
}

// add appends one number to any state.
func add(t testing.TB, s *engine.Store, key eventstore.Key, e added) (eventstore.Tip[tally], error) {
	return eventstore.Execute(testContext(t), s, tallies, key, newMeta(t, s), func(tally) (added, error) { return e, nil })
}

func mustAdd(t testing.TB, s *engine.Store, key eventstore.Key, e added) eventstore.Tip[tally] {
	t.Helper()
	tip, err := add(t, s, key, e)
	if err != nil {
		t.Fatal(err)
	}
	return tip
}

// checkChain checks an aggregate's events by the rules of the log: the revisions have no gap, each
// event names the event before it, and every hash follows from the rules in doc.go, as an auditor
// computes it.
func checkChain(t testing.TB, events []*eventstore.Recorded) {
	t.Helper()
	var previous eventstore.Recorded
	for i, r := range events {
		if r.Revision != uint64(i+1) || r.PrevSeq != previous.Seq || i > 0 && r.Seq <= previous.Seq {
			t.Errorf("%s: event %d has revision %d, seq %d, previous %d after %d", r.Key, i+1, r.Revision, r.Seq, r.PrevSeq, previous.Seq)
		}
		if want := auditorsHash(previous.Hash[:], r); want != r.Hash {
			t.Errorf("%s revision %d: hash %s, an auditor computes %s", r.Key, r.Revision, r.Hash, want)
		}
		previous = *r
	}
}

// auditorsHash computes an event's hash from the bytes that doc.go names, with no code of the
// package.
func auditorsHash(previous []byte, r *eventstore.Recorded) eventstore.Hash {
	text := fmt.Sprintf("ce-specversion:1.0\nce-id:%s\nce-type:%s\nce-source:/payledger\nce-subject:%s.%s.%s\nce-time:%s\n"+
		"content-type:application/msgpack\nLedger-Schema:%d\nLedger-Revision:%d\n"+
		"Ledger-Command-Id:%s\nLedger-Correlation-Id:%s\nLedger-Actor:%s\n\n",
		r.EventID, r.Type, r.Account, r.Aggregate, r.ID, r.Time.Format("2006-01-02T15:04:05.000000Z"),
		r.Schema, r.Revision, r.CommandID, r.CorrelationID, r.Actor)
	return sha256.Sum256(append(append(append([]byte{}, previous...), text...), r.Body...))
}

// replicas is how many copies of the log there are.
func (r *rig) replicas() int {
	if r.proxies == nil {
		return 1
	}
	return len(r.nodes)
}

// connect connects to a node's server for the test's life.
func (r *rig) connect(t testing.TB, i int) *nats.Conn {
	t.Helper()
	nc, err := connectBy(r.nodes[i].config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// connectBy connects as a store with the configuration does.
func connectBy(c engine.Config) (*nats.Conn, error) {
	if c.Server != nil {
		return c.Server.Connect()
	}
	return c.External.Connect()
}

// reopen opens one more store on a node's server.
func (r *rig) reopen(t testing.TB, i int, change func(*engine.Config)) *engine.Store {
	t.Helper()
	c := r.nodes[i].config()
	c.Shards = r.shards
	change(&c)
	return openWhenReady(t, c)
}

// same compares two values with all they hold.
func same[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(eventstore.Recorded{}), wholeBytes); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// wholeBytes compares a slice of bytes at once: byte by byte, a megabyte takes seconds.
var wholeBytes = cmp.Comparer(func(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) })

// second returns the error of a call with two results.
func second[T any](_ T, err error) error { return err }

// scale picks a size: the first in short mode, the second else.
func scale(short, long int) int {
	if seedtest.Sampled() {
		return short
	}
	return long
}
