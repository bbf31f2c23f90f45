package ownertest

import (
	"errors"
	"sync"
	"testing"
	"time"

	"payledger/eventstore"
	"payledger/eventstore/streams"
)

// leaderless lets shard 0 have a leader or none: the server says so to each group, and stores
// nothing.
func (w *world) leaderless(is bool) {
	to := ""
	if is {
		to = "PUB no.leader "
	}
	for _, n := range w.nodes {
		n.divert("PUB "+streams.Subject(0, 1)+" ", to)
	}
}

// TestLeaderless: the stream has no leader for some seconds, and the server says so. The writes of
// all nodes, the owner's among them, wait and succeed when there is a leader.
func TestLeaderless(t *testing.T) {
	play(t, 3, 1, func(w *world) {
		key := w.newKey(0)
		for _, n := range w.nodes {
			n.add(key).must()
		}
		w.leaderless(true)
		var calls sync.WaitGroup
		for range 3 {
			for _, n := range w.nodes {
				calls.Go(func() {
					if c := n.add(w.newKey(0)); c.err != nil {
						t.Error(c)
					}
				})
				calls.Go(func() {
					if c := n.add(key); c.err != nil {
						t.Error(c)
					}
				})
			}
			w.pass(2 * time.Second)
		}
		w.leaderless(false)
		began := time.Now()
		calls.Wait()
		if took := time.Since(began); took > time.Second {
			t.Errorf("the writes end %s after there is a leader", took)
		}
		w.check()
	})
}

// TestLongLeaderless: no leader comes. The owner's own writes are refused in the end: nothing was
// recorded.
func TestLongLeaderless(t *testing.T) {
	play(t, 1, 1, func(w *world) {
		a := w.nodes[0]
		key := w.newKey(0)
		a.add(key).must()
		a.patience = time.Minute
		w.leaderless(true)
		began := time.Now()
		c := a.add(key)
		if took := time.Since(began); !errors.Is(c.err, eventstore.ErrRefused) || errors.Is(c.err, eventstore.ErrUnknown) || took > 20*time.Second {
			t.Errorf("after %s: %s", took, c)
		}
		a.patience = 980 * time.Millisecond // between two tries
		if c := a.add(key); !errors.Is(c.err, eventstore.ErrRefused) {
			t.Errorf("a caller that leaves: %s", c)
		}
		w.leaderless(false)
		w.pass(time.Second)
		a.add(key).must()
		if n := a.read(key).must().count; n != 2 {
			t.Errorf("%d events", n)
		}
		w.check()
	})
}

// TestReconnects: the NATS server of a node leaves, and another one takes the node's connection
// after a moment. No write fails.
func TestReconnects(t *testing.T) {
	for _, i := range []int{0, 1} { // the owner, and another node
		play(t, 2, 1, func(w *world) {
			a, n := w.nodes[0], w.nodes[i]
			key := w.newKey(0)
			a.add(key).must()
			w.nodes[1].add(key).must()
			n.kill()
			w.pass(time.Millisecond) // the client knows it
			var calls sync.WaitGroup
			for range 5 {
				calls.Go(func() {
					if c := n.add(w.newKey(0)); c.err != nil {
						t.Error(c)
					}
				})
			}
			w.pass(time.Second)
			n.join()
			calls.Wait()
			w.check()
		})
	}
}
