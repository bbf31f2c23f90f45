//go:build system

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"payledger/domain/seedtest"
	"payledger/eventstore"
)

// model records the answers to callers, to compare them with the log and with one order of the
// calls.
type model struct {
	rig     *rig
	keys    []eventstore.Key
	down    [3]atomic.Bool
	stop    atomic.Bool
	acks    atomic.Int64
	callers sync.WaitGroup
	gate    sync.RWMutex // held for reading by a caller at work
	began   time.Time
	mu      sync.Mutex
	calls   []*clusterCall
}

// clusterCall is one call and its answer.
type clusterCall struct {
	client   int
	node     int
	key      eventstore.Key
	kind     callKind
	who      string // names the event that it would record
	n        int64  // the event's number
	from, to time.Duration

	fate     callFate
	err      error
	revision uint64
	saw      sums // after its event; for others the state that the answer rests on
}

// callKind is the kind of a caller's request.
type callKind int

const (
	addAlways callKind = iota // record an event
	addSecond                 // record an event, unless the aggregate has an odd number of events: then it is refused
	readAll                   // read everything that was acknowledged
	readHere                  // read the node's own knowledge, which may be old
)

func (k callKind) String() string {
	return [...]string{"add", "add to an even number", "read", "read here"}[k]
}

// callFate is the answer to a caller.
type callFate int

const (
	acknowledged callFate = iota
	refusedByRule
	read
	notStored // an error: nothing was recorded
	maybeStored
)

func (f callFate) String() string {
	return [...]string{"acknowledged", "refused", "read", "failed", "unknown"}[f]
}

// sums is an aggregate's state.
type sums struct{ count, sum int64 }

func sumsOf(s tally) sums { return sums{s.Count, s.Sum} }

// startModel lets eight callers write to a few aggregates and read them, on all nodes.
func startModel(t *testing.T, r *rig) *model {
	seed := seedtest.Seed(t)
	m := &model{rig: r, began: time.Now()}
	t.Cleanup(func() {
		m.stop.Store(true)
		m.callers.Wait()
	})
	for i := range 6 {
		m.keys = append(m.keys, keyIn(r.store(), i%r.shards))
	}
	for client := range 8 {
		random := rand.New(rand.NewPCG(seed, uint64(client)))
		m.callers.Go(func() {
			rest := time.NewTicker(10 * time.Millisecond)
			defer rest.Stop()
			for n := 0; !m.stop.Load(); n++ {
				c := &clusterCall{
					client: client, key: m.keys[random.IntN(len(m.keys))], kind: callKind(random.IntN(4)),
					who: fmt.Sprintf("%d-%d", client, n), n: random.Int64N(1000),
				}
				if m.call(t, c, random.IntN(len(r.nodes))); c.fate != acknowledged {
					<-rest.C // a hot loop of refusals would starve the elections
				}
			}
		})
	}
	return m
}

var errOdd = errors.New("an odd number of events stands there")

// call makes a call on a node, or on the next running one, and records the answer.
func (m *model) call(t *testing.T, c *clusterCall, node int) {
	m.gate.RLock()
	defer m.gate.RUnlock()
	for m.down[node].Load() {
		node = (node + 1) % len(m.rig.nodes)
	}
	c.node = node
	s := m.rig.nodes[node].store
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	var tip eventstore.Tip[tally]
	c.from = time.Since(m.began)
	switch c.kind {
	case readAll:
		tip, c.err = eventstore.Load(ctx, s, tallies, c.key, eventstore.Latest)
	case readHere:
		tip, c.err = eventstore.Load(ctx, s, tallies, c.key, eventstore.Applied)
	default:
		tip, c.err = eventstore.Execute(ctx, s, tallies, c.key, newMeta(t, s), func(state tally) (added, error) {
			if c.kind == addSecond && state.Count%2 == 1 {
				return added{}, errOdd
			}
			return added{N: c.n, Who: c.who}, nil
		})
	}
	c.to = time.Since(m.began)
	c.saw = sumsOf(tip.State)
	if tip.Recorded != nil {
		c.revision = tip.Recorded.Revision
	}
	switch {
	case errors.Is(c.err, errOdd):
		c.fate = refusedByRule
	case errors.Is(c.err, eventstore.ErrUnknown):
		c.fate = maybeStored
	case c.err != nil:
		c.fate = notStored
	case c.kind == readAll || c.kind == readHere:
		c.fate = read
	default:
		c.fate = acknowledged
		m.acks.Add(1)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = append(m.calls, c)
}

// more waits for n further acknowledged events.
func (m *model) more(t *testing.T, n int64) {
	t.Helper()
	until := m.acks.Load() + n
	eventually(t, 2*time.Minute, "writers make progress", func() error {
		if acks := m.acks.Load(); acks < until {
			return fmt.Errorf("%d of %d", acks, until)
		}
		return nil
	})
}

// pause runs f while no caller is at work.
func (m *model) pause(f func()) {
	m.gate.Lock()
	defer m.gate.Unlock()
	f()
}

// check stops the callers and compares their answers with the log, and with one order of the calls.
func (m *model) check(t *testing.T) {
	m.stop.Store(true)
	m.callers.Wait()
	m.rig.heals(t)
	fates := map[string]int{}
	for _, c := range m.calls {
		fates[c.kind.String()+" "+c.fate.String()]++
	}
	t.Logf("%v", fates)
	for _, want := range []string{"add acknowledged", "add to an even number acknowledged", "add to an even number refused", "read read", "read here read"} {
		if fates[want] == 0 {
			t.Errorf("no %q in %d calls: the model was not tried", want, len(m.calls))
		}
	}
	for _, key := range m.keys {
		states, stored := m.history(t, key)
		m.checkLog(t, key, states, stored)
		m.checkOrder(t, key, stored)
	}
}

// history reads an aggregate: its state after each revision, and the revision of each event.
func (m *model) history(t *testing.T, key eventstore.Key) (states []sums, stored map[string]int) {
	t.Helper()
	states, stored = []sums{{}}, map[string]int{}
	tip, err := eventstore.Load(testContext(t), m.rig.store(), tallies, key, eventstore.Latest)
	if err != nil {
		t.Fatal(err)
	}
	if tip.Recorded == nil {
		return states, stored
	}
	events, err := m.rig.store().History(testContext(t), key)
	if err != nil {
		t.Fatal(err)
	}
	checkChain(t, events)
	for i, r := range events {
		e, err := tallies.Event(r)
		if err != nil {
			t.Fatal(err)
		}
		if stored[e.Who] > 0 {
			t.Errorf("%s stands at %s twice", e.Who, key)
		}
		stored[e.Who] = i + 1
		states = append(states, sums{states[i].count + 1, states[i].sum + e.N})
	}
	if last := states[len(states)-1]; sumsOf(tip.State) != last {
		t.Errorf("%s: state %+v, the events come to %+v", key, tip.State, last)
	}
	return states, stored
}

// checkLog checks that acknowledged events are in the log as answered, refused and failed ones are
// not, and unknown ones are there at most once. The log has no other event, and every returned
// state was a state of the log.
func (m *model) checkLog(t *testing.T, key eventstore.Key, states []sums, stored map[string]int) {
	left := map[string]bool{}
	for who := range stored {
		left[who] = true
	}
	for _, c := range m.calls {
		if c.key != key {
			continue
		}
		at, stands := stored[c.who]
		delete(left, c.who)
		switch {
		case c.fate == acknowledged && (!stands || c.revision != uint64(at)), c.fate != acknowledged && c.fate != maybeStored && stands:
			t.Errorf("%s: %+v stands at revision %d", key, *c, at)
		case c.fate == acknowledged || c.fate == refusedByRule || c.fate == read:
			if c.revision >= uint64(len(states)) || states[c.revision] != c.saw {
				t.Errorf("%s: %+v rests on a state that there never was", key, *c)
			}
		}
	}
	if len(left) > 0 {
		t.Errorf("%s: nobody wrote %v", key, left)
	}
}

// checkOrder checks that one order of the calls explains every answer, in which a call that began
// after another call's answer comes later. Reads of a node's own knowledge are left out: they may
// be old.
func (m *model) checkOrder(t *testing.T, key eventstore.Key, stored map[string]int) {
	var list []porcupine.Operation
	for _, c := range m.calls {
		_, stands := stored[c.who]
		until := int64(c.to)
		switch {
		case c.key != key, c.kind == readHere, c.fate == notStored, c.fate == maybeStored && !stands:
			continue
		case c.fate == maybeStored: // it may take effect at any time from its call on
			until = math.MaxInt64
		}
		list = append(list, porcupine.Operation{ClientId: c.client, Input: c, Call: int64(c.from), Output: c, Return: until})
	}
	switch result := porcupine.CheckOperationsTimeout(sumsModel, list, time.Minute); result {
	case porcupine.Ok:
	case porcupine.Unknown: // many calls without an answer have too many orders to try in time
		t.Logf("%s: not decided: %d calls", key, len(list))
	default:
		for _, o := range list {
			t.Logf("%12d–%12d %s", o.Call, o.Return, sumsModel.DescribeOperation(o.Input, o.Output))
		}
		t.Errorf("%s: the answers fit no order of the calls: %s", key, result)
	}
}

// sumsModel is the sequential model of an aggregate of sums.
var sumsModel = porcupine.Model{
	Init: func() any { return sums{} },
	Step: func(state, _, output any) (bool, any) {
		s, c := state.(sums), output.(*clusterCall)
		next := sums{s.count + 1, s.sum + c.n}
		refuses := c.kind == addSecond && s.count%2 == 1
		switch c.fate {
		case acknowledged:
			return !refuses && c.saw == next, next
		case maybeStored:
			return !refuses, next
		case refusedByRule:
			return refuses && c.saw == s, s
		default:
			return c.saw == s, s
		}
	},
	DescribeOperation: func(_, output any) string {
		c := output.(*clusterCall)
		return fmt.Sprintf("node %d: %s %s %d → %s %+v at revision %d", c.node, c.kind, c.who, c.n, c.fate, c.saw, c.revision)
	},
}
