package notifier

import (
	"testing"
	"time"

	"payledger/domain/processor"
	"payledger/notifier/delivery"
	"payledger/projections/deliveries"
)

// logNode is node with an attempt log.
func (r *rig) logNode(n int, nodes delivery.Nodes) *logRig {
	r.t.Helper()
	other := &logRig{rig: r.node(n, nodes, asTheyAre)}
	other.openLog(r.t.TempDir())
	return other
}

// TestReplayOfANodeThatIsGone: a replay belongs to the node that started it. Nodes that start leave
// it alone, and when its node is gone, a node that runs completes it.
func TestReplayOfANodeThatIsGone(t *testing.T) {
	t.Parallel()
	const n = 20
	inbox, release := hanging(t)
	free := newReceiver(t, nil)
	r := newRig(t)
	r.config.RetryDelays = []time.Duration{}
	r.base()
	living := newTown()
	goes := r.logNode(1, &citizen{town: living, name: "goes"})
	for range n {
		r.pay(processor.Declined)
	}
	endpoint, other := r.endpoint(inbox.url+"/"), r.endpoint(free.url+"/")
	id := goes.replay(all(endpoint), n)
	hooks := inbox.waitFor(replayAttempts) // all hang
	stays := r.logNode(2, &citizen{town: living, name: "stays"})
	stays.isDone(stays.replay(all(other), n), n)
	free.waitFor(n)
	if p, _ := stays.storedReplay(id); p.Owner != "goes" || p.State != deliveries.ReplayRunning {
		t.Errorf("while its node runs: %+v", p)
	}
	goes.stop()
	inbox.none()
	release()
	living.end("goes")
	stays.isDone(id, n)
	hooks = append(hooks, inbox.waitFor(n)...) // those that hung were cut off
	if p, _ := stays.storedReplay(id); p.Owner != "stays" {
		t.Errorf("%+v", p)
	}
	stays.stop()
	inbox.none()
	free.none()
	if events := count(hooks); len(events) != n {
		t.Errorf("%d of %d came", len(events), n)
	}
}

// TestReplayAfterCutOff: a node that was cut off goes on with its replay under its new owner id.
func TestReplayAfterCutOff(t *testing.T) {
	t.Parallel()
	const n = 20
	inbox, release := hanging(t)
	r := newRig(t)
	r.config.RetryDelays = []time.Duration{}
	r.base()
	me := &citizen{town: newTown(), name: "me"}
	node := r.logNode(1, me)
	for range n {
		r.pay(processor.Declined)
	}
	id := node.replay(all(r.endpoint(inbox.url+"/")), n)
	inbox.waitFor(replayAttempts) // all hang
	me.renamed("me again")
	release()
	node.isDone(id, n)
	if p, _ := node.storedReplay(id); p.Owner != "me again" {
		t.Errorf("%+v", p)
	}
}
