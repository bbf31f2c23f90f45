package ownertest

import (
	"sync"
	"testing"
	"time"

	"payledger/eventstore/ownership"
)

// TestReadBesideFlight is schedule 1 of package ownership: an event of another node stands in a
// group of the owner that is stored, and whose acknowledgement is on its way. The other node shows
// the event already. A read at the owner that begins after that waits for the acknowledgement, and
// has the event.
func TestReadBesideFlight(t *testing.T) {
	play(t, 2, 1, func(w *world) {
		a, b := w.nodes[0], w.nodes[1]
		key := w.newKey(0)
		a.add(key).must()
		b.add(key).must()
		var running sync.WaitGroup
		a.out.shut()
		running.Go(func() { b.add(key) })
		w.pass(50 * time.Millisecond) // the owner has the event, and its group is on its way
		a.in.shut()
		a.out.open()
		running.Wait() // the other node has read the group
		read := make(chan *call, 1)
		running.Go(func() { read <- a.read(key) })
		w.pass(50 * time.Millisecond)
		select {
		case c := <-read:
			t.Errorf("the owner answers before it has the acknowledgement: %s", c)
			read <- c
		default:
		}
		a.in.open()
		running.Wait()
		if c := <-read; c.err != nil || c.count != 3 {
			t.Errorf("the other node showed 3 events: %s", c)
		}
		w.check()
	})
}

// TestOneGroupUnderWay is schedule 2 of package ownership: however many events wait at the owner,
// one group is under way to the servers. While the owner is cut off, another node takes the shard
// over and stores a group at the place of the owner's group. The cut heals: a second group of the
// owner would be stored behind the foreign one, which it does not follow.
func TestOneGroupUnderWay(t *testing.T) {
	play(t, 2, 1, func(w *world) {
		a, b := w.nodes[0], w.nodes[1]
		key := w.newKey(0)
		a.add(key).must()
		b.add(key).must()
		var running sync.WaitGroup
		a.freeze()
		for range 3 { // each time as many as a second group takes
			for range 50 {
				running.Go(func() { a.add(w.newKey(0)) })
			}
			w.pass(10 * time.Millisecond)
		}
		w.pass(ownership.Absence)
		b.add(key).must()
		a.thaw()
		running.Wait()
		w.pass(time.Second)
		for _, n := range w.nodes {
			n.add(key).must()
			n.read(key).must()
		}
		w.check()
	})
}
