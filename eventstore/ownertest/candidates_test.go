package ownertest

import (
	"sync"
	"testing"
	"time"

	"payledger/eventstore"
	"payledger/eventstore/ownership"
	"payledger/eventstore/streams"
)

const candidates = 5

// candidacy plays an owner that is gone, and nodes that have all seen its newest group at the same
// moment, and write at the same moment. meanwhile is called between the beginning of the writes and
// their ends. Each write must succeed in its time, and the owner changes once. It returns how many
// groups the candidates sent until then.
func candidacy(t *testing.T, longest time.Duration, meanwhile func(w *world)) (attempts int) {
	t.Helper()
	play(t, 1+candidates, 1, func(w *world) {
		a, others := w.nodes[0], w.nodes[1:]
		keys := []eventstore.Key{w.newKey(0)}
		a.add(keys[0]).must()
		for _, n := range others {
			n.add(keys[0]).must()
			keys = append(keys, w.newKey(0))
			n.count("PUB " + streams.Subject(0, 1) + " ")
		}
		before := len(w.groups(0))
		a.freeze()
		var writing sync.WaitGroup
		for i, n := range others {
			for _, key := range []eventstore.Key{keys[0], keys[1+i]} {
				writing.Go(func() {
					began := time.Now()
					if c, took := n.add(key), time.Since(began); c.err != nil || took > longest {
						t.Errorf("after %s: %s", took, c)
					}
				})
			}
		}
		meanwhile(w)
		writing.Wait()
		owners := []string{a.name}
		for _, g := range w.groups(0)[before:] {
			if !g.Visitor && g.Node != owners[len(owners)-1] {
				owners = append(owners, g.Node)
			}
		}
		for _, n := range others {
			if sent := n.counted(); n.name != owners[len(owners)-1] {
				attempts += sent
			} else if attempts++; sent == 0 {
				t.Error("the new owner sent nothing")
			}
		}
		if len(owners) != 2 {
			t.Errorf("the owner changed %d times", len(owners)-1)
		}
		w.check()
	})
	return attempts
}

// TestCandidates is schedule 10 of package ownership: all candidates wait for the same moment. Each
// begins a little later, at random, and finds the shard taken over: one of them sends a group.
func TestCandidates(t *testing.T) {
	for range 3 {
		if n := candidacy(t, takeover, func(*world) {}); n != 1 {
			t.Errorf("%d of %d candidates sent a group", n, candidates)
		}
	}
}

// TestCandidatesAtOnce is schedule 10, with groups of all candidates on their way when the first
// one arrives: the compare-and-swap picks one. The others read on, and hand their events to its
// writer.
func TestCandidatesAtOnce(t *testing.T) {
	n := candidacy(t, 2*takeover, func(w *world) {
		w.pass(ownership.Absence - 100*time.Millisecond)
		for _, n := range w.nodes[1:] {
			n.out.shut()
		}
		w.pass(time.Second) // each is alone, and begins
		for _, n := range w.nodes[1:] {
			n.out.open()
		}
	})
	if n < candidates {
		t.Errorf("%d of %d candidates sent a group", n, candidates)
	}
}
