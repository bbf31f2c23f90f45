package eventstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"payledger/eventstore"
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
		{"a link is cut and healed under writers", testLinkCut, true},
		{"the leader is killed under writers", testLeaderKilled, false},
	} {
		if fault.slow && testing.Short() {
			continue
		}
		t.Run(fault.name, func(t *testing.T) { fault.test(t, r) })
	}
}

// The leader cannot commit; the group is under way there when its writer, who had no answer, sends it again.
func testInFlight(t *testing.T, r *rig) {
	ctx := testContext(t)
	leader := r.leader(t, eventstore.StreamName(0))
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
			eventually(t, time.Minute, "the cluster is whole", func() error {
				ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
				defer cancel()
				_, err := eventstore.ExecuteNew(ctx, n.store, tallies, keyIn(n.store, shard), newMeta(t, n.store),
					func(tally) (added, error) { return added{Who: "healed"}, nil })
				return err
			})
		}
	}
}

func testNoQuorum(t *testing.T, r *rig) {
	leader := r.leader(t, eventstore.StreamName(0))
	s := r.nodes[leader].store
	key := keyIn(s, 0)
	before := mustAdd(t, s, key, added{Who: "before"})
	r.leave(leader)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := eventstore.Resume(ctx, s, tallies, before, newMeta(t, s), func(tally) (added, error) { return added{Who: "unknown"}, nil })
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

// A node that was cut off refuses by what it last saw: that answer must not get out.
func testCutOffReplica(t *testing.T, r *rig) {
	leader := r.leader(t, eventstore.StreamName(0))
	far := (leader + 1) % len(r.nodes)
	key := keyIn(r.store(), 0)
	mustAdd(t, r.nodes[leader].store, key, added{N: 1})
	eventually(t, 30*time.Second, "the replica has the first event", func() error {
		return second(r.nodes[far].store.Load(testContext(t), key))
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
	eventually(t, 30*time.Second, "the replica that is back decides", func() error { // a busy cluster may elect once more
		tip, err := eventstore.Execute(testContext(t), s, tallies, key, newMeta(t, s), decide)
		if errors.Is(err, errEarly) || err == nil && tip.State.Count != 3 {
			t.Fatal(err, tip.State)
		}
		return err
	})
}

func testLinkCut(t *testing.T, r *rig) {
	a, b := r.leader(t, eventstore.StreamName(0)), r.leader(t, eventstore.StreamName(1))
	if a == b {
		b = (a + 1) % len(r.nodes)
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
	m.more(t, 50)
	m.check(t)
}

func testLeaderKilled(t *testing.T, r *rig) {
	m := startModel(t, r)
	for range scale(1, 3) {
		m.more(t, 50)
		leader := r.leader(t, eventstore.StreamName(0))
		m.down[leader].Store(true)
		r.leave(leader)
		if err := r.nodes[leader].server.Close(); err != nil {
			t.Error(err)
		}
		if err := r.nodes[leader].store.Close(); err != nil {
			t.Error(err)
		}
		m.more(t, 100)
		m.pause(func() {
			r.start(t, leader)
			r.open(t, leader)
		})
		m.down[leader].Store(false)
		m.more(t, 50)
	}
	m.check(t)
}

// model remembers, on its own, what writers were told, to compare it with what the log holds.
type model struct {
	rig      *rig
	keys     []eventstore.Key
	down     [3]atomic.Bool
	stop     atomic.Bool
	acks     atomic.Int64
	writers  sync.WaitGroup
	gate     sync.RWMutex // held for reading by a writer at work
	mu       sync.Mutex
	verdicts map[string]verdict // by writer and number
	place    map[string]eventstore.Key
	n        map[string]int64
}

type verdict int

const (
	acknowledged verdict = iota
	notStored
	maybeStored
)

// startModel lets eight writers add to a few aggregates from all nodes.
func startModel(t *testing.T, r *rig) *model {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	m := &model{rig: r, verdicts: map[string]verdict{}, place: map[string]eventstore.Key{}, n: map[string]int64{}}
	t.Cleanup(func() {
		m.stop.Store(true)
		m.writers.Wait()
	})
	for i := range 6 {
		m.keys = append(m.keys, keyIn(r.store(), i%r.shards))
	}
	for w := range 8 {
		random := rand.New(rand.NewPCG(seed, uint64(w)))
		m.writers.Go(func() {
			rest := time.NewTicker(10 * time.Millisecond)
			defer rest.Stop()
			for n := 0; !m.stop.Load(); n++ {
				if !m.write(t, random, fmt.Sprintf("%d-%d", w, n)) {
					<-rest.C // a hot loop of refusals would starve the elections
				}
			}
		})
	}
	return m
}

func (m *model) write(t *testing.T, random *rand.Rand, who string) bool {
	m.gate.RLock()
	defer m.gate.RUnlock()
	i, key, n := random.IntN(len(m.rig.nodes)), m.keys[random.IntN(len(m.keys))], random.Int64N(1000)
	for m.down[i].Load() {
		i = (i + 1) % len(m.rig.nodes)
	}
	s := m.rig.nodes[i].store
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	_, err := eventstore.Execute(ctx, s, tallies, key, newMeta(t, s), func(tally) (added, error) { return added{N: n, Who: who}, nil })
	told := notStored
	switch {
	case err == nil:
		told = acknowledged
		m.acks.Add(1)
	case errors.Is(err, eventstore.ErrUnknown):
		told = maybeStored
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.verdicts[who], m.place[who], m.n[who] = told, key, n
	return told == acknowledged
}

// more waits for n further acknowledged events.
func (m *model) more(t *testing.T, n int64) {
	t.Helper()
	until := m.acks.Load() + n
	eventually(t, time.Minute, "writers make progress", func() error {
		if acks := m.acks.Load(); acks < until {
			return fmt.Errorf("%d of %d", acks, until)
		}
		return nil
	})
}

// pause runs f while no writer is at work.
func (m *model) pause(f func()) {
	m.gate.Lock()
	defer m.gate.Unlock()
	f()
}

// check ends the writers and compares: acknowledged is there once, refused is not, unknown at most once;
// nothing else stands there, and every state is the sum of the events.
func (m *model) check(t *testing.T) {
	m.stop.Store(true)
	m.writers.Wait()
	m.rig.heals(t)
	stored, sums := map[string]int{}, map[eventstore.Key]int64{}
	for _, key := range m.keys {
		tip, err := eventstore.LoadTipAtLeader(testContext(t), m.rig.store(), tallies, key)
		if err != nil {
			t.Fatal(err)
		}
		if tip.Recorded == nil {
			continue
		}
		events, err := m.rig.store().History(testContext(t), key)
		if err != nil {
			t.Fatal(err)
		}
		checkChain(t, events)
		for _, r := range events {
			e, err := tallies.Event(r)
			if err != nil {
				t.Fatal(err)
			}
			stored[e.Who]++
			sums[key] += m.n[e.Who]
			if m.place[e.Who] != key {
				t.Errorf("%s stands at %s, not %s", e.Who, key, m.place[e.Who])
			}
		}
		if tip.State.Sum != sums[key] {
			t.Errorf("%s: state %d, sum of the events %d", key, tip.State.Sum, sums[key])
		}
	}
	counts := [3]int{}
	for who, told := range m.verdicts {
		counts[told]++
		n := stored[who]
		if told == acknowledged && n != 1 || told == notStored && n != 0 || n > 1 {
			t.Errorf("%s was told %d and stands there %d times", who, told, n)
		}
		delete(stored, who)
	}
	t.Logf("%d acknowledged, %d refused, %d unknown", counts[acknowledged], counts[notStored], counts[maybeStored])
	if len(stored) > 0 {
		t.Errorf("nobody wrote %v", stored)
	}
}
