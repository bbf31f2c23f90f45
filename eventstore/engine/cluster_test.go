//go:build system

package engine_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"payledger/domain/seedtest"
	"payledger/eventstore"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/format"
)

// TestClusterFaults damages a cluster of three, one fault after the other.
func TestClusterFaults(t *testing.T) { // alone: elections have their time
	r := cluster(t, 2)
	for _, fault := range []struct {
		name string
		test func(*testing.T, *rig)
		slow bool
	}{
		{"the own group under way is refused a second time, and succeeds", testInFlight, false},
		{"a deadline without a quorum is an unknown outcome", testNoQuorum, false},
		{"a replica that was cut off gives no refusal", testCutOffReplica, false},
		{"a leader that was cut off returns no old state", testCutOffLeader, false},
		{"groups that are exchanged in one replica stop no shard", testExchangedInReplica, false},
		{"a link is cut and healed under writers", testLinkCut, true},
	} {
		if fault.slow && seedtest.Sampled() {
			continue
		}
		t.Run(fault.name, func(t *testing.T) { fault.test(t, r) })
	}
}

// testInFlight: the leader cannot commit; the group is under way there when its writer, who had no
// answer, sends it again.
func testInFlight(t *testing.T, r *rig) {
	ctx := testContext(t)
	leader := r.leader(t, engine.StreamName(0))
	r.own(t, leader)
	s := r.nodes[leader].store
	key := keyIn(s, 0)
	first := mustAdd(t, s, key, added{Who: "before"})
	mine := draft(t, s, key, first.Recorded, added{Who: "mine"})
	flight, err := s.Depart(ctx, mine)
	if err != nil {
		t.Fatal(err)
	}
	r.leave(leader)
	if err := flight.Send(); err != nil {
		t.Fatal(err)
	}
	again, err := flight.Publish(ctx)
	if err != nil || again == 0 {
		t.Errorf("the same bytes while the first are under way: %d, %v", again, err)
	}
	t.Logf("the same bytes while the first are under way: %d", again)
	ended := make(chan error, 1)
	go func() { ended <- flight.Lose(ctx) }()
	r.join(leader)
	if err := <-ended; err != nil || mine.Seq == 0 {
		t.Errorf("%v, %+v", err, mine)
	}
	r.heals(t)
	checkOnce(t, s, key, "mine")
}

// heals waits until every node's store can append to every shard.
func (r *rig) heals(t testing.TB) {
	t.Helper()
	for _, n := range r.nodes {
		for shard := range r.shards {
			eventually(t, 2*time.Minute, "the cluster is whole", func() error {
				ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
				defer cancel()
				_, err := eventstore.ExecuteNew(ctx, n.store, tallies, keyIn(n.store, shard), newMeta(t, n.store),
					func(tally) (added, error) { return added{Who: "healed"}, nil })
				return err
			})
		}
	}
}

func testNoQuorum(t *testing.T, r *rig) {
	leader := r.leader(t, engine.StreamName(0))
	s := r.nodes[leader].store
	key := keyIn(s, 0)
	before := mustAdd(t, s, key, added{Who: "before"})
	r.leave(leader)
	ctx, deadline := context.WithCancel(t.Context())
	defer deadline()
	limit := testContext(t)
	go func() { // once it is under way
		if err := s.WaitFlights(limit, 0, 1); err != nil {
			t.Error(err)
		}
		deadline()
	}()
	_, err := eventstore.ExecuteFrom(ctx, s, tallies, before, newMeta(t, s), func(tally) (added, error) { return added{Who: "unknown"}, nil })
	if !errors.Is(err, eventstore.ErrUnknown) {
		t.Errorf("without a quorum: %v", err)
	}
	r.join(leader)
	r.heals(t)
	mustAdd(t, s, key, added{Who: "after"})
	checkOnce(t, s, key, "after")
	events, err := s.History(testContext(t), key)
	if err != nil {
		t.Fatal(err)
	}
	n := countOf(t, events, "unknown")
	t.Logf("the unknown event stands there %d times", n)
	if n > 1 || len(events) != 2+n {
		t.Errorf("%d events, the unknown one %d times", len(events), n)
	}
}

// testCutOffReplica: a node that was cut off would decide by its old knowledge; this answer must
// not be returned.
func testCutOffReplica(t *testing.T, r *rig) {
	leader := r.leader(t, engine.StreamName(0))
	far := (leader + 1) % len(r.nodes)
	key := keyIn(r.store(), 0)
	mustAdd(t, r.nodes[leader].store, key, added{N: 1})
	eventually(t, 2*time.Minute, "the replica has the first event", func() error {
		return second(r.nodes[far].store.Load(testContext(t), key, eventstore.Applied))
	})
	r.leave(far)
	mustAdd(t, r.nodes[leader].store, key, added{N: 1})
	errEarly := errors.New("too early")
	decide := func(s tally) (added, error) {
		if s.Count < 2 {
			return added{}, errEarly
		}
		return added{N: 1}, nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	s := r.nodes[far].store
	if _, err := eventstore.Execute(ctx, s, tallies, key, newMeta(t, s), decide); err == nil || errors.Is(err, errEarly) {
		t.Errorf("cut off: %v", err)
	}
	r.join(far)
	r.heals(t)
	eventually(t, 2*time.Minute, "the replica that is back decides", func() error { // a busy cluster may elect once more
		tip, err := eventstore.Execute(testContext(t), s, tallies, key, newMeta(t, s), decide)
		if errors.Is(err, errEarly) || err == nil && tip.State.Count != 3 {
			t.Fatal(err, tip.State)
		}
		return err
	})
}

// testCutOffLeader: a leader that lost every connection without noticing leads on for seconds:
// neither its old state nor a refusal by it must get out. It also leads the group of all servers,
// as else it refuses all requests soon.
func testCutOffLeader(t *testing.T, r *rig) {
	leader := -1
	eventually(t, time.Minute, "the cluster has a leader", func() error {
		if leader = slices.IndexFunc(r.nodes, func(n *node) bool { return n.member.JetStreamIsLeader() }); leader < 0 {
			return errors.New("none")
		}
		return nil
	})
	r.moveLeader(t, engine.StreamName(0), leader)
	near, far := r.nodes[leader].store, r.nodes[(leader+1)%len(r.nodes)].store
	key := keyIn(far, 0)
	eventually(t, time.Minute, "the leader takes an event", func() error { return second(add(t, far, key, added{N: 1})) })
	old, err := eventstore.Load(testContext(t), near, tallies, key, eventstore.Latest)
	if err != nil || old.State.Count == 0 {
		t.Fatal(old.State, err)
	}
	r.silence(leader)
	others := slices.Delete(slices.Clone(r.nodes), leader, leader+1)
	eventually(t, time.Minute, "the others have a leader", func() error {
		if slices.ContainsFunc(others, func(n *node) bool { return leads(n.member, engine.StreamName(0)) }) {
			return nil
		}
		return errors.New("none")
	})
	eventually(t, time.Minute, "the new leader takes an event", func() error { return second(add(t, far, key, added{N: 1})) })
	t.Logf("the silent leader leads: %t", leads(r.nodes[leader].member, engine.StreamName(0)))
	errEarly := errors.New("too early")
	for range 5 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		tip, err := eventstore.Load(ctx, near, tallies, key, eventstore.Latest)
		if err == nil {
			t.Errorf("cut off: a read of %+v", tip.State)
		}
		_, err = eventstore.Execute(ctx, near, tallies, key, newMeta(t, near), func(s tally) (added, error) {
			if s.Count <= old.State.Count {
				return added{}, errEarly
			}
			return added{N: 1}, nil
		})
		if err == nil || errors.Is(err, errEarly) {
			t.Errorf("cut off: %v", err)
		}
		cancel()
	}
	r.join(leader)
	r.heals(t)
	if tip, err := eventstore.Load(testContext(t), near, tallies, key, eventstore.Latest); err != nil || tip.State.Count <= old.State.Count {
		t.Errorf("after the cut: %+v, %v", tip.State, err)
	}
}

// testExchangedInReplica: one of three Direct Gets is answered by the bad replica. Its leader's
// groups count: for a start with a tip store and without one, and for reads.
func testExchangedInReplica(t *testing.T, r *rig) {
	leader := r.leader(t, engine.StreamName(0))
	bad := (leader + 1) % len(r.nodes)
	n, key, tips := r.nodes[bad], keyIn(r.store(), 0), t.TempDir()
	for range 5 {
		mustAdd(t, r.nodes[leader].store, key, added{N: 1})
	}
	open := func(tips string) *engine.Store {
		c := r.nodes[leader].config()
		c.Shards, c.Tips = r.shards, tips
		return openWhenReady(t, c)
	}
	if err := errors.Join(open(tips).Close(), n.store.Close()); err != nil {
		t.Fatal(err)
	}
	n.stop()
	exchange(t, n.dir, true)
	r.start(t, bad)
	r.moveLeader(t, engine.StreamName(0), bad) // a leader answers Direct Gets at once, and goes on
	r.moveLeader(t, engine.StreamName(0), leader)
	r.open(t, bad)
	want, err := r.nodes[leader].store.History(testContext(t), key)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 12 {
		s := open([]string{"", tips}[i%2])
		last := format.GroupOf(lastOf(t, s))
		for from := uint64(1); from <= last; from++ {
			if err := s.Groups(testContext(t), 0, from, last, func(*format.Group) error { return nil }); err != nil {
				t.Errorf("from group %d on: %v", from, err)
			}
			s.ForgetGroups()
		}
		events, err := s.History(testContext(t), key)
		if err != nil {
			t.Error(err)
		}
		same(t, "the history", events, want)
		if err := errors.Join(s.Healthy(), s.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

func testLinkCut(t *testing.T, r *rig) {
	a, b := r.leader(t, engine.StreamName(0)), r.leader(t, engine.StreamName(1))
	if a == b {
		b = (a + 1) % len(r.nodes)
	}
	names := []string{}
	for _, n := range r.nodes {
		names = append(names, n.store.Node())
	}
	for _, n := range r.nodes { // they hand requests on to each other
		n.store.ServeWith(eventstoretest.Nodes{Serving: names})
	}
	m := startModel(t, r)
	for range scale(1, 4) {
		m.more(t, 200)
		r.proxies[a][b].Cut()
		r.proxies[b][a].Cut()
		m.more(t, 200)
		r.proxies[a][b].Heal("")
		r.proxies[b][a].Heal("")
	}
	r.silence(a)
	m.more(t, 100)
	r.join(a)
	m.more(t, 50)
	m.check(t)
}
