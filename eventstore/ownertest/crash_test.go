package ownertest

import (
	"sync"
	"testing"
	"time"

	"payledger/eventstore"
	"payledger/eventstore/ownership"
)

// goners are the ways in which a node ends.
var goners = map[string]func(*node){
	"killed":        func(n *node) { n.kill() },
	"without power": func(n *node) { n.freeze() },
}

// eachEnd plays three nodes, of which the first owns the shard and the third has written, for each
// way in which one or both of two nodes end.
func eachEnd(t *testing.T, script func(w *world, key eventstore.Key, end func(*node), both bool)) {
	for how, end := range goners {
		for _, both := range []bool{false, true} {
			t.Run(how, func(t *testing.T) {
				play(t, 3, 1, func(w *world) {
					key := w.newKey(0)
					w.nodes[0].add(key).must()
					w.nodes[2].add(key).must()
					script(w, key, end, both)
				})
			})
		}
	}
}

// within calls add on nodes at once, and checks that each call succeeds in the time of a takeover.
func (w *world) within(what string, calls ...func() *call) {
	w.t.Helper()
	var all sync.WaitGroup
	for _, do := range calls {
		all.Go(func() {
			began := time.Now()
			c := do()
			if took := time.Since(began); c.err != nil || took > takeover {
				w.t.Errorf("%s: after %s: %s", what, took, c)
			}
		})
	}
	all.Wait()
}

// TestNextDies: the owner names the next one, which is gone before its first group. The shard has
// an owner again in the time of a takeover, whether the former owner lives or not. Nothing is lost,
// and no read is old.
func TestNextDies(t *testing.T) {
	eachEnd(t, func(w *world, key eventstore.Key, end func(*node), both bool) {
		a, b, c := w.nodes[0], w.nodes[1], w.nodes[2]
		w.serve(a, b)
		b.freeze() // it does not see that it is named
		if err := a.store.Leave(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
		if owner, next := w.owner(0); owner != a.name || next != b.name {
			w.t.Fatalf("the owner is %s, and %s is next", w.named(owner), w.named(next))
		}
		end(b)
		calls := []func() *call{func() *call { return c.add(key) }, func() *call { return c.read(key) }, func() *call { return c.add(w.newKey(0)) }}
		if both {
			end(a)
		} else {
			calls = append(calls, func() *call { return a.add(key) }, func() *call { return a.read(key) })
		}
		w.within("after "+w.named(b.name)+" is gone", calls...)
		if owner, _ := w.owner(0); owner == b.name {
			w.t.Errorf("the owner is %s", w.named(owner))
		}
		c.read(key).must()
		w.check()
	})
}

// TestLeaversName: a node leaves, names another leaving node as the next owner, and dies. The third
// node becomes the owner, and nobody names the dead node again.
func TestLeaversName(t *testing.T) {
	eachEnd(t, func(w *world, key eventstore.Key, end func(*node), both bool) {
		a, b, c := w.nodes[0], w.nodes[1], w.nodes[2]
		if err := b.store.Leave(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
		w.serve(a, b)
		b.freeze()
		if err := a.store.Leave(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
		end(a)
		w.serve(a, b, c) // nobody has noticed yet
		if both {
			end(b)
		} else {
			b.thaw()
		}
		w.within("after "+w.named(a.name)+" is gone", func() *call { return c.add(key) }, func() *call { return c.read(key) })
		w.pass(3 * time.Second)
		w.within("later", func() *call { return c.add(key) })
		owner, next := w.owner(0)
		if owner != c.name || next != "" {
			w.t.Errorf("the owner is %s, and %s is next", w.named(owner), w.named(next))
		}
		for i, g := range w.groups(0) {
			if g.Next == a.name {
				w.t.Errorf("group %d of %s names the dead node", i+1, w.named(g.Node))
			}
		}
		w.check()
	})
}

// TestAllLeave: all nodes of a cluster leave. A node does not hand the shard back to the node that
// gave it: the last one lets anyone have it, and no more groups follow. Calls still succeed.
func TestAllLeave(t *testing.T) {
	play(t, 2, 1, func(w *world) {
		key := w.newKey(0)
		for _, n := range w.nodes {
			n.add(key).must()
		}
		var leaving sync.WaitGroup
		for _, n := range w.nodes {
			leaving.Go(func() {
				if err := n.store.Leave(w.t.Context()); err != nil {
					w.t.Error(err)
				}
			})
		}
		leaving.Wait()
		w.pass(3 * time.Second)
		before := len(w.groups(0))
		w.pass(time.Minute)
		if n := len(w.groups(0)) - before; n > 0 {
			w.t.Errorf("%d groups in a minute without a call", n)
		}
		const calls = 5
		for range calls {
			for _, n := range w.nodes {
				w.within("all leave", func() *call { return n.add(key) }, func() *call { return n.read(key) })
			}
		}
		w.pass(time.Minute)
		groups := w.groups(0)
		named := 0
		for _, g := range groups {
			if w.named(g.Next) == "a" || w.named(g.Next) == "b" {
				named++
			}
		}
		if named > 1 {
			w.t.Errorf("they name each other %d times", named)
		}
		if n := len(groups) - before; n > 8*calls {
			w.t.Errorf("%d groups for %d calls", n, 4*calls)
		}
		w.check()
	})
}

// TestImpatientCallers: callers that leave before the owner counts as silent do not keep a shard
// from being taken over.
func TestImpatientCallers(t *testing.T) {
	for what, do := range map[string]func(*node, *world) *call{
		"adds":  func(n *node, w *world) *call { return n.add(w.newKey(0)) },
		"reads": func(n *node, w *world) *call { return n.read(w.newKey(0)) },
	} {
		t.Run(what, func(t *testing.T) {
			play(t, 2, 1, func(w *world) {
				a, b := w.nodes[0], w.nodes[1]
				a.add(w.newKey(0)).must()
				b.add(w.newKey(0)).must()
				a.freeze()
				b.patience = ownership.Patience / 3
				began := time.Now()
				for do(b, w).err != nil && time.Since(began) < time.Minute {
					w.pass(time.Millisecond)
				}
				if took := time.Since(began); took > takeover+ownership.Patience {
					w.t.Errorf("nobody is answered for %s", took)
				}
				w.check()
			})
		})
	}
}
