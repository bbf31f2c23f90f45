package ownership_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"payledger/domain/seedtest"
	"payledger/eventstore/format"
	"payledger/eventstore/ownership"
)

// world is one shard with three nodes, each with a clock, messages that take their time, and
// pauses. The log accepts a group only at its end.
type world struct {
	random *rand.Rand
	log    []format.Writer // of the stored groups
	events []bool          // the group has an event
	acked  int             // the newest group with an event whose writer has answered a caller
	nodes  []*model
	faults faults
	found  string // a broken promise
}

// faults are the mistakes of simpler forms: the model must find each of them.
type faults struct {
	longLease     bool // the lease is as long as the absence, from the acknowledgement
	resendsRenew  bool // a group that was found in the log renews the lease
	early         bool // a candidate does not wait for the absence
	ignoresFlight bool // the owner does not wait for its group in flight
}

// model is one node.
type model struct {
	*clock
	state   ownership.State
	name    string
	applied int // groups
	flight  *flight
}

// flight is a group on its way to the log, with the time before its first sending.
type flight struct {
	seq    int
	writer format.Writer
	event  bool
	asOf   ownership.Reading
	stored bool // the log has it
	lost   bool // its answer will not come
}

func newWorld(seed uint64, f faults) *world {
	w := &world{random: rand.New(rand.NewPCG(seed, 1)), faults: f}
	for _, name := range []string{"a", "b", "c"} {
		n := &model{clock: newClock(), name: name}
		n.now.Up += time.Duration(w.random.IntN(1000)) * time.Hour // clocks of different machines
		n.state = ownership.New(name, n.read)
		n.state.Empty()
		w.nodes = append(w.nodes, n)
	}
	return w
}

// step does one thing at one node.
func (w *world) step() {
	n := w.nodes[w.random.IntN(len(w.nodes))]
	switch what := w.random.IntN(100); {
	case what < 20:
		w.pass(time.Duration(w.random.IntN(200)) * time.Millisecond)
	case what < 22:
		w.pass(time.Duration(w.random.IntN(3000)) * time.Millisecond)
	case what < 45:
		w.apply(n)
	case what < 62:
		w.send(n)
	case what < 72:
		w.store(n)
	case what < 82:
		w.answer(n)
	default:
		w.read(n)
	}
}

// pass lets time pass on all machines.
func (w *world) pass(d time.Duration) {
	for _, n := range w.nodes {
		n.clock.pass(d)
	}
}

// apply applies the next group of another node.
func (w *world) apply(n *model) {
	if n.flight != nil || n.applied == len(w.log) {
		return
	}
	n.state.Saw(uint64(n.applied+1), w.log[n.applied])
	n.applied++
}

// send begins a group: an event if the node may append, else a visitor's.
func (w *world) send(n *model) {
	if n.flight != nil {
		return
	}
	if w.random.IntN(3) == 0 {
		n.state.Unanswered(n.state.Target())
	}
	may := n.state.MayAppend()
	if w.faults.early && n.state.Silent() {
		may = true
	}
	f := &flight{seq: n.applied + 1, writer: by(n.name), event: may, asOf: n.read()}
	switch {
	case !may:
		f.writer = visit(n.name)
	case n.state.Owns() && w.random.IntN(12) == 0:
		f.writer.Next, f.event = []string{"a", "b", "c", ownership.Anyone}[w.random.IntN(4)], false
		n.state.Void()
	case w.random.IntN(3) == 0:
		f.event = false
	}
	n.flight = f
}

// store lets the log decide about a group on its way. Its answer may get lost.
func (w *world) store(n *model) {
	f := n.flight
	if f == nil || f.stored {
		return
	}
	if f.seq != len(w.log)+1 { // refused
		n.flight = nil
		return
	}
	w.log, w.events = append(w.log, f.writer), append(w.events, f.event)
	f.stored, f.lost = true, w.random.IntN(4) == 0
}

// answer brings the acknowledgement, or lets the node find its group in the log.
func (w *world) answer(n *model) {
	f := n.flight
	if f == nil || !f.stored {
		return
	}
	n.flight = nil
	n.state.Saw(uint64(f.seq), f.writer)
	n.applied = f.seq
	if !f.lost || w.faults.resendsRenew {
		asOf := f.asOf
		if w.faults.longLease || f.lost {
			asOf = n.read()
		}
		n.state.Acknowledged(asOf)
	}
	if f.event {
		w.acked = max(w.acked, f.seq)
	}
}

// read answers a reader of the whole shard from memory, if the node may: it must have every event
// that was acknowledged before the read, or that another node shows already.
func (w *world) read(n *model) {
	must := w.acked
	for _, other := range w.nodes {
		for seq := other.applied; seq > must; seq-- {
			if w.events[seq-1] {
				must = seq
			}
		}
	}
	if n.flight != nil && !w.faults.ignoresFlight {
		return
	}
	held := n.state.Holds()
	if w.faults.longLease && !held {
		n.clock.pass(ownership.Lease - ownership.Absence)
		held = n.state.Holds()
		n.clock.pass(ownership.Absence - ownership.Lease)
	}
	if held && n.applied < must && w.found == "" {
		w.found = fmt.Sprintf("%s reads up to group %d from memory, and group %d was shown before", n.name, n.applied, must)
	}
}

const (
	worlds = 400
	steps  = 1500
)

// run plays worlds, and returns the first broken promise, and how many reads and owners there were.
func run(t *testing.T, first uint64, f faults) string {
	t.Helper()
	owners := map[string]bool{}
	for seed := first; seed < first+worlds; seed++ {
		w := newWorld(seed, f)
		for range steps {
			w.step()
			if w.found != "" {
				return fmt.Sprintf("world %d: %s", seed, w.found)
			}
		}
		for _, writer := range w.log {
			if !writer.Visitor {
				owners[writer.Node] = true
			}
		}
	}
	if len(owners) != 3 {
		t.Errorf("only %v appended", owners)
	}
	return ""
}

// TestModel plays random schedules of three nodes: no read from memory misses an event that was
// acknowledged, or shown by another node, before.
func TestModel(t *testing.T) {
	if found := run(t, seedtest.Seed(t), faults{}); found != "" {
		t.Error(found)
	}
}

// TestModelFinds: the model breaks each simpler form.
func TestModelFinds(t *testing.T) {
	for name, f := range map[string]faults{
		"schedule 1: no wait for the group in flight": {ignoresFlight: true},
		"schedule 6: no wait for the absence":         {early: true},
		"schedule 7: a resend renews":                 {resendsRenew: true},
		"a lease from the acknowledgement":            {longLease: true},
	} {
		if run(t, 1, f) == "" {
			t.Errorf("%s: nothing was found", name)
		}
	}
}
