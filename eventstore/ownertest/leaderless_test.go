package ownertest

import (
	"errors"
	"sync"
	"testing"
	"time"

	"payledger/eventstore"
	"payledger/eventstore/streams"
)

// TestLeaderless: the stream has no leader for some seconds, and the server says so. The owner's own writes are refused at once: nothing was
// recorded. Another node's, which the owner may still append, wait and succeed when there is a leader. No outcome is unknown.
func TestLeaderless(t *testing.T) {
	play(t, 3, 1, func(w *world) {
		a, b, c := w.nodes[0], w.nodes[1], w.nodes[2]
		key := w.newKey(0)
		a.add(key).must()
		b.add(key).must()
		for _, n := range w.nodes {
			n.divert("PUB "+streams.Subject(0, 1)+" ", "PUB no.leader ")
		}
		var calls sync.WaitGroup
		for range 3 {
			for _, n := range []*node{b, c} {
				calls.Go(func() {
					if c := n.add(w.newKey(0)); c.err != nil && !errors.Is(c.err, eventstore.ErrRefused) {
						t.Error(c)
					}
				})
			}
		}
		w.pass(time.Second)
		if c := a.add(key); !errors.Is(c.err, eventstore.ErrRefused) {
			t.Errorf("at the owner: %s", c)
		}
		w.pass(5 * time.Second)
		for _, n := range w.nodes {
			n.divert("PUB "+streams.Subject(0, 1)+" ", "")
		}
		calls.Wait()
		w.check()
	})
}
