package ownertest

import (
	"sync"
	"testing"
	"time"

	"payledger/domain/seedtest"
	"payledger/eventstore"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/ownership"
)

// fault is what happens to the owner of a shard for a while. during is called every tick of it.
type fault struct {
	begin, during, end func(a *node)
}

const (
	tick        = 100 * time.Millisecond
	shortly     = 600 * time.Millisecond // how long a caller waits during a fault
	faultLength = 4 * time.Second
)

func none(*node) {}

// late lets a node hear everything late.
func late(by time.Duration) fault {
	return fault{func(a *node) { a.in.shut() }, func(a *node) { a.in.upTo(time.Now().Add(-by)) }, func(a *node) { a.in.open() }}
}

// clocked is a node that hears nothing, with a clock and a time of day that have rates.
func clocked(rate, dayRate float64) fault {
	return fault{func(a *node) { a.clock.set(rate, dayRate); a.in.shut() }, none, func(a *node) { a.in.open(); a.clock.set(1, 1) }}
}

// faults are the faults of an owner. No read is old during any of them.
var faults = map[string]fault{
	"nothing":                      {none, none, none},
	"frozen":                       {func(a *node) { a.freeze() }, none, func(a *node) { a.thaw() }},
	"frozen with its clock":        {func(a *node) { a.freeze(); a.clock.set(0, 1) }, none, func(a *node) { a.clock.set(1, 1); a.thaw() }},
	"cut off":                      {func(a *node) { a.kill() }, none, func(a *node) { a.join() }},
	"deaf":                         {func(a *node) { a.in.shut() }, none, func(a *node) { a.in.open() }},
	"mute":                         {func(a *node) { a.out.shut() }, none, func(a *node) { a.out.open() }},
	"late within its lease":        late(ownership.Lease / 2),
	"late, after its lease":        late(1900 * time.Millisecond),
	"late, after a takeover":       late(2600 * time.Millisecond),
	"a slow clock":                 clocked(0.5, 1),
	"a fast clock":                 clocked(2, 1),
	"a slow machine, by a quarter": clocked(0.76, 0.76),
	"a time of day that goes back": {func(a *node) { a.clock.jump(0, -time.Hour); a.in.shut() }, none, func(a *node) { a.in.open() }},
	"a clock that jumps":           {func(a *node) { a.in.shut() }, func(a *node) { a.clock.jump(time.Hour, time.Hour) }, func(a *node) { a.in.open() }},
}

// suffer lets callers on all nodes add and read while the first node, the owner, has a fault. With
// leaves, the owner hands the shard over when the fault begins.
func (w *world) suffer(f fault, leaves bool) {
	keys := []eventstore.Key{w.newKey(0), w.newKey(0)}
	a := w.nodes[0]
	for _, n := range w.nodes {
		n.add(keys[0]).must()
	}
	stop := make(chan struct{})
	var callers sync.WaitGroup
	for i, n := range w.nodes {
		n.patience = shortly
		for caller := range 2 {
			callers.Go(func() {
				next := time.NewTicker(tick)
				defer next.Stop()
				for turn := 0; ; turn++ {
					select {
					case <-stop:
						return
					case <-next.C:
					}
					if key := keys[turn%len(keys)]; caller == 0 && turn%2 == i%2 {
						n.add(key)
					} else {
						n.read(key)
					}
				}
			})
		}
	}
	w.pass(10*tick + tick/2)
	if leaves {
		go func() { _ = a.store.Leave(w.t.Context()) }() // it may not get through
	}
	f.begin(a)
	for range faultLength / tick {
		w.pass(tick)
		f.during(a)
	}
	f.end(a)
	w.pass(20 * tick)
	close(stop)
	callers.Wait()
}

// TestFaultyOwner: no read at the owner, at other nodes and while the shard is handed over is old,
// whatever happens to the owner, its messages and its clock. In all faults somebody is answered.
func TestFaultyOwner(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	sample := map[string]bool{"frozen": true, "deaf": true, "cut off": true, "late, after a takeover": true} // while the shard is handed over, too
	for name, f := range faults {
		for _, leaves := range []bool{false, true} {
			if seedtest.Sampled() && leaves != sample[name] { // each fault once
				continue
			}
			t.Run(name, func(t *testing.T) {
				play(t, 3, 1, func(w *world) {
					w.suffer(f, leaves)
					w.check()
					read, added := 0, 0
					for _, c := range w.calls {
						switch {
						case c.err != nil:
						case c.adds:
							added++
						default:
							read++
						}
					}
					if read < 80 || added < 30 {
						w.t.Errorf("%d reads and %d additions of %d calls", read, added, len(w.calls))
					}
				})
			})
		}
	}
}

// TestLimits: what a lease cannot notice (package ownership). The clock and the time of day of the
// owner's machine both go at half speed, or both stop. The lease then lasts longer than Absence on
// the other machines, and a read is old. The check finds it.
func TestLimits(t *testing.T) {
	for name, f := range map[string]fault{"half as fast": clocked(0.5, 0.5), "stopped": clocked(0, 0)} {
		t.Run(name, func(t *testing.T) {
			play(t, 3, 1, func(w *world) {
				w.suffer(f, false)
				if w.wrong() == nil {
					w.t.Error("no old read was found")
				}
			})
		})
	}
}
