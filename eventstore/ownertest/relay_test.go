package ownertest

import (
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"payledger/eventstore/handover"
)

// TestRelay: the requests of a node do not reach the owner, because the link between their servers
// is cut; a third node reaches both. While the owner appends, the node's calls succeed through the
// third one, and it stays the owner. After the cut they go the straight way again.
func TestRelay(t *testing.T) {
	for how, hole := range map[string]bool{"nobody answers": true, "the server knows that nobody answers": false} {
		t.Run(how, func(t *testing.T) {
			play(t, 3, 1, func(w *world) {
				a, b, c := w.nodes[0], w.nodes[1], w.nodes[2]
				key, other := w.newKey(0), w.newKey(0)
				a.add(other).must()
				w.pass(2 * time.Second) // each node looks at the others
				if hole {
					if _, err := w.watcher.Subscribe(handover.DraftsSubject(nowhere), func(*nats.Msg) {}); err != nil {
						t.Fatal(err)
					}
				}
				c.miss(a.name)
				stop, writing := make(chan struct{}), sync.WaitGroup{}
				writing.Go(func() {
					for again := time.NewTicker(100 * time.Millisecond); ; <-again.C {
						select {
						case <-stop:
							return
						default:
							a.add(other).must()
						}
					}
				})
				const calls = 50
				for range calls / 2 {
					for _, do := range []func() *call{func() *call { return c.add(key) }, func() *call { return c.read(other) }} {
						began := time.Now()
						if call, took := do(), time.Since(began); call.err != nil || took > time.Second {
							t.Errorf("after %s: %s", took, call)
						}
					}
				}
				w.pass(10 * time.Second) // the straight way is tried again
				var crowd sync.WaitGroup
				for range 20 { // some on each way
					w.pass(40 * time.Millisecond)
					crowd.Go(func() {
						began := time.Now()
						if call, took := c.add(w.newKey(0)), time.Since(began); call.err != nil || took > 1200*time.Millisecond {
							t.Errorf("in a crowd, after %s: %s", took, call)
						}
					})
				}
				crowd.Wait()
				c.reach(a.name)
				began := time.Now()
				for range calls {
					c.add(key).must()
				}
				if took := time.Since(began); took > time.Second {
					t.Errorf("%d calls without a cut took %s", calls, took)
				}
				close(stop)
				writing.Wait()
				for i, g := range w.groups(0) {
					if !g.Visitor && (g.Node != a.name || g.Next != "") {
						t.Errorf("group %d is of %s", i+1, w.named(g.Node))
					}
				}
				b.read(key).must()
				w.check()
			})
		})
	}
}

// TestNoRelay: no node reaches the owner of an idle shard, which is gone. Requests that the others
// send through each other end, and the shard is taken over in time.
func TestNoRelay(t *testing.T) {
	for how, end := range goners {
		t.Run(how, func(t *testing.T) {
			play(t, 4, 1, func(w *world) {
				a, b, c, d := w.nodes[0], w.nodes[1], w.nodes[2], w.nodes[3]
				key := w.newKey(0)
				w.pass(2 * time.Second)
				a.add(key).must()
				end(a)
				w.within("after the owner is gone",
					func() *call { return b.add(key) }, func() *call { return c.add(w.newKey(0)) }, func() *call { return d.add(key) },
					func() *call { return b.read(key) }, func() *call { return c.read(key) })
				w.check()
			})
		})
	}
}
