package engine_test

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"payledger/eventstore"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/format"
	"payledger/eventstore/handover"
)

// TestHandover checks a node that is not the sequencer of a shard, and sends its drafts to the
// sequencer. Whatever happens to its messages, each event is recorded once.
func TestHandover(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	runPromises(t, cluster, []promise{
		{"events of one node stand in groups of another", testHandedOver},
		{"a sequencer that never answers", testSilentSequencer},
		{"a sequencer that is gone", testGoneSequencer},
		{"drafts that come twice, to two nodes", testDraftsTwice},
		{"a refusal of a draft that is stored", testWrongRefusal},
		{"a refusal that names a group of the future", testEarlyRefusal},
		{"a draft on an old event", testDraftBehind},
		{"unreadable and foreign messages", testForeignMessages},
		{"a hold of a back-up", testHold},
	})
}

// stranger acts as the node that wrote the newest group of a shard.
type stranger struct {
	name     string
	nc       *nats.Conn
	requests chan *nats.Msg
}

// newStranger connects to a node's server.
func newStranger(t testing.TB, r *rig, name string) *stranger {
	t.Helper()
	return &stranger{name: name, nc: r.connect(t, 2), requests: make(chan *nats.Msg, 1024)}
}

// listen takes requests to the stranger.
func (o *stranger) listen(t testing.TB) {
	t.Helper()
	_, err := o.nc.ChanSubscribe(handover.DraftsSubject(o.name), o.requests)
	if err := errors.Join(err, o.nc.Flush()); err != nil {
		t.Fatal(err)
	}
}

// lead writes an empty group to shard 0, and waits until a store knows it.
func (o *stranger) lead(t testing.TB, s *engine.Store) {
	t.Helper()
	eventually(t, time.Minute, "the store hands over to the stranger", func() error {
		seq, hash, events, aggregates := s.End(0)
		g := engine.Group{
			Kind: engine.KindEmpty, Shard: 0, Log: s.ID(), Seq: seq + 1, Before: hash, Events: events, Aggregates: aggregates, WitnessShard: engine.NoShard,
		}
		if s.Owner(0) == o.name {
			return nil
		}
		return errors.Join(errors.New("not yet"), second(engine.PublishGroupAs(testContext(t), o.nc, o.name, 0, 1, g.Seq, g.Encode())))
	})
}

// request waits for a request with drafts.
func (o *stranger) request(t testing.TB) (handover.Request, string) {
	t.Helper()
	for {
		select {
		case m := <-o.requests:
			r, err := handover.ParseRequest(m)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Drafts) > 0 {
				return r, m.Reply
			}
		case <-time.After(time.Minute):
			t.Fatal("no request")
		}
	}
}

func testHandedOver(t testing.TB, r *rig) {
	var mu sync.Mutex
	appender := map[string]string{} // node by the id of its appended event
	eventually(t, time.Minute, "an event of one node in a group of another", func() error {
		var both sync.WaitGroup
		for _, n := range r.nodes {
			for range 8 {
				both.Go(func() {
					key := keyIn(n.store, 0)
					if _, err := add(t, n.store, key, added{N: 1}); err == nil {
						mu.Lock()
						appender[key.ID] = n.store.Node()
						mu.Unlock()
					}
				})
			}
		}
		both.Wait()
		for _, g := range r.groups(t, 0) {
			for _, e := range g.events {
				if by := appender[e.ID]; by != "" && by != g.node {
					return nil
				}
			}
		}
		return errors.New("none yet")
	})
	seen := map[string]int{}
	for _, g := range r.groups(t, 0) {
		for _, e := range g.events {
			seen[e.EventID]++
		}
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("event %s stands %d times", id, n)
		}
	}
}

// writtenGroup is a group in the log with the node that wrote it.
type writtenGroup struct {
	node   string
	events []*eventstore.Recorded
}

// groups reads all groups of a shard.
func (r *rig) groups(t testing.TB, shard int) (all []writtenGroup) {
	t.Helper()
	js, err := r.nodes[0].store.Conn().JetStream()
	if err != nil {
		t.Fatal(err)
	}
	end, _, _, _ := r.nodes[0].store.End(shard)
	for seq := uint64(1); seq <= end; seq++ {
		m, err := js.GetMsg(engine.StreamName(shard), seq)
		if err != nil {
			t.Fatal(err)
		}
		g, err := engine.ParseGroup(m.Data)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, writtenGroup{handover.WriterOf(m.Header).Node, g.Frames})
	}
	return all
}

// addBeside adds to an aggregate on node 0 while a stranger is the sequencer. The result comes into
// the channel.
func addBeside(t testing.TB, r *rig, name string) (o *stranger, s *engine.Store, key eventstore.Key, done chan error) {
	t.Helper()
	o, s, done = newStranger(t, r, name), r.nodes[0].store, make(chan error, 1)
	o.listen(t)
	o.lead(t, s)
	key = keyIn(s, 0)
	go func() { done <- second(add(t, s, key, added{Who: "handed"})) }()
	return o, s, key, done
}

func testSilentSequencer(t testing.TB, r *rig) {
	o, s, key, done := addBeside(t, r, "silent")
	if got, _ := o.request(t); got.Drafts[0].Key != key {
		t.Errorf("handed over: %v", got.Drafts[0].Key)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	checkOnce(t, s, key, "handed")
	o.lead(t, s)
	if _, err := eventstore.Load(testContext(t), s, tallies, key, eventstore.Latest); err != nil { // readers leave it as well
		t.Error(err)
	}
}

func testGoneSequencer(t testing.TB, r *rig) {
	o, s := newStranger(t, r, "gone"), r.nodes[0].store
	o.lead(t, s)
	key := keyIn(s, 0)
	mustAdd(t, s, key, added{Who: "kept"})
	checkOnce(t, s, key, "kept")
}

// testDraftsTwice: the stranger gives the drafts to two nodes, and to one of them twice. Both nodes
// answer.
func testDraftsTwice(t testing.TB, r *rig) {
	o, s, key, done := addBeside(t, r, "twice")
	answers := make(chan *nats.Msg, 1024)
	_, err := o.nc.ChanSubscribe(handover.AnswersSubject(s.Node()), answers)
	if err := errors.Join(err, o.nc.Flush()); err != nil {
		t.Fatal(err)
	}
	got, _ := o.request(t)
	waiting := map[string]bool{}
	for _, to := range []*engine.Store{r.nodes[1].store, r.nodes[1].store, r.nodes[2].store} {
		got.To = to.Node()
		waiting[got.To] = true
		if err := o.nc.PublishMsg(got.Message()); err != nil {
			t.Fatal(err)
		}
	}
	for len(waiting) > 0 {
		select {
		case m := <-answers:
			a, err := handover.ParseAnswer(m)
			if err != nil || a.Nobody {
				t.Fatalf("%+v, %v", a, err)
			}
			delete(waiting, a.From)
		case <-time.After(time.Minute):
			t.Fatalf("no answer of %v", waiting)
		}
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	mustAdd(t, s, key, added{Who: "next"})
	checkOnce(t, s, key, "handed")
	checkOnce(t, s, key, "next")
}

// testWrongRefusal: the refusal names the group that holds the draft: the draft's own node reads it
// before it returns a conflict.
func testWrongRefusal(t testing.TB, r *rig) {
	o, s, key, done := addBeside(t, r, "wrong")
	got, reply := o.request(t)
	other := r.nodes[1].store
	eventually(t, time.Minute, "another node knows the stranger's group", func() error {
		seq, hash, events, aggregates := other.End(0)
		g := engine.Group{
			Kind: engine.KindEvents, Shard: 0, Log: s.ID(), Seq: seq + 1, Before: hash, Events: events, Aggregates: aggregates,
			WitnessShard: engine.NoShard, Frames: got.Drafts,
		}
		code, err := engine.PublishGroupAs(testContext(t), o.nc, o.name, 0, 1, g.Seq, g.Encode())
		if err == nil && code == 0 {
			return o.nc.PublishMsg(handover.Refused(reply, handover.Conflict, g.Seq, 0, got.Drafts[0].Hash))
		}
		return errors.Join(errors.New("not yet"), err)
	})
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	checkOnce(t, s, key, "handed")
}

// testEarlyRefusal: the node has not read the group that the refusal names when it takes its draft
// back.
func testEarlyRefusal(t testing.TB, r *rig) {
	o, s, key, done := addBeside(t, r, "early")
	for answered := false; ; {
		select {
		case m := <-o.requests:
			got, err := handover.ParseRequest(m)
			if err != nil {
				t.Fatal(err)
			}
			if answered || len(got.Drafts) == 0 {
				continue
			}
			answered = true
			end, _, _, _ := s.End(0)
			if err := o.nc.PublishMsg(handover.Refused(m.Reply, handover.Conflict, end+1, 0, got.Drafts[0].Hash)); err != nil {
				t.Fatal(err)
			}
			mustAdd(t, s, keyIn(s, 0), added{Who: "another"}) // the group that the refusal names
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			checkOnce(t, s, key, "handed")
			return
		case <-time.After(time.Minute):
			t.Fatal("no answer")
		}
	}
}

// testDraftBehind: two nodes add to one aggregate: the loser's draft is on an old event. It is
// decided again.
func testDraftBehind(t testing.TB, r *rig) {
	key := keyIn(r.nodes[0].store, 0)
	mustAdd(t, r.nodes[0].store, key, added{N: 1})
	var all sync.WaitGroup
	var unknown atomic.Int64 // each of these may be in the log, and was repeated
	for _, n := range r.nodes {
		all.Go(func() {
			for range 5 {
				eventually(t, time.Minute, "an event on a contended aggregate", func() error {
					_, err := add(t, n.store, key, added{N: 1})
					if errors.Is(err, eventstore.ErrUnknown) {
						unknown.Add(1)
					}
					return err
				})
			}
		})
	}
	all.Wait()
	tip, err := eventstore.Load(testContext(t), r.nodes[1].store, tallies, key, eventstore.Latest)
	if more := tip.State.Count - 16; err != nil || more < 0 || more > unknown.Load() {
		t.Errorf("%+v, %v, with %d unknown outcomes", tip.State, err, unknown.Load())
	}
}

func testForeignMessages(t testing.TB, r *rig) {
	o, s := newStranger(t, r, "foreign"), r.nodes[0].store
	key := keyIn(s, 1) // of another shard
	d := draft(t, s, key, nil, added{Who: "foreign"})
	forged := draft(t, s, keyIn(s, 0), nil, added{Who: "forged"})
	forged.Hash[0]++
	answers := make(chan *nats.Msg, 16)
	_, err := o.nc.ChanSubscribe(handover.AnswersSubject(o.name), answers)
	if err := errors.Join(err, o.nc.Flush()); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []*eventstore.Recorded{d, forged} {
		m := handover.Request{From: o.name, To: s.Node(), Shard: 0, Drafts: []*format.Recorded{bad}}.Message()
		if err := o.nc.PublishMsg(m); err != nil {
			t.Fatal(err)
		}
		select {
		case m := <-answers:
			a, err := handover.ParseAnswer(m)
			if err != nil || a.Refused != handover.Elsewhere || len(a.Hashes) != 1 || a.Hashes[0] != bad.Hash {
				t.Errorf("%+v, %v", a, err)
			}
		case <-time.After(time.Minute):
			t.Fatal("no answer")
		}
	}
	for _, text := range []string{"", "no frame"} {
		for _, subject := range []string{"payledger.drafts." + s.Node() + ".0", "payledger.drafts." + s.Node() + ".99", "payledger.placed." + s.Node() + ".0.x"} {
			if err := o.nc.PublishMsg(&nats.Msg{Subject: subject, Reply: "payledger.placed.foreign.0.x", Data: []byte(text)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	mustAdd(t, s, keyIn(s, 0), added{Who: "after"})
	if err := s.Healthy(); err != nil {
		t.Error(err)
	}
}

// testHold: no group begins as long as all nodes hold.
func testHold(t testing.TB, r *rig) {
	held := func() bool {
		return !slices.ContainsFunc(r.nodes, func(n *node) bool { return !n.store.Held() })
	}
	nc := r.nodes[1].store.Conn()
	eventually(t, time.Minute, "all nodes hold", func() error {
		if err := nc.PublishMsg(handover.HoldMessage(handover.MaxHold)); err != nil {
			return err
		}
		if !held() {
			return errors.New("a node does not hold yet")
		}
		return nil
	})
	mustAdd(t, r.store(), newKey(), added{N: 1})
	if held() {
		t.Error("an event was recorded while all nodes held their groups")
	}
}
