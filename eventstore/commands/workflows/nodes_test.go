package workflows_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/workflow"
	"payledger/eventstore"
)

// TestLosersLand: of two nodes that wait for a run's time one takes it, and the other lets it go.
func TestLosersLand(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	flow := r.workflow(workflow.Definition{DelaySeconds: 4, Actions: []workflow.Action{{Type: workflow.HTTPRequest, URL: r.url}}})
	a, b := r.start(nodeConfig{shared: true}), r.start(nodeConfig{shared: true})
	var ids []domain.RunID
	for range 10 {
		ids = append(ids, r.runOf(flow, r.pay()))
	}
	for _, id := range ids {
		r.begun(id)
	}
	r.until("runs wait in memory", func() bool { return a.engine.InFlight()+b.engine.InFlight() > 0 })
	for _, id := range ids {
		s, _ := r.over(id)
		if early := s.DueAt.Sub(*s.Steps[0].RequestedAt); s.Status() != workflow.Succeeded || early > 0 {
			t.Errorf("%s early: %+v", early, s)
		}
	}
	r.until("nobody holds a place", func() bool { return a.engine.InFlight()+b.engine.InFlight() == 0 })
	if keys, again := r.came(); keys != len(ids) || again != 0 {
		t.Errorf("%d requests, %d again", keys, again)
	}
}

// TestOneSender: a capture has no outcome for so long that another node looks after the run, too.
// When the outcome comes, one of the nodes performs the next action.
func TestOneSender(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	flow := r.workflow(workflow.Definition{Actions: []workflow.Action{{Type: workflow.Capture}, {Type: workflow.HTTPRequest, URL: r.url}}})
	r.held = make(chan struct{})
	answer := sync.OnceFunc(func() { close(r.held) })
	t.Cleanup(answer)
	var ahead atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	a, b := r.start(nodeConfig{shared: true, now: now}), r.start(nodeConfig{shared: true, now: now})
	p := r.payWith(asyncCapture, r.by)
	id := r.runOf(flow, p)
	r.until("a node waits for the outcome", func() bool { return a.engine.Parked()+b.engine.Parked() == 1 })
	ahead.Store(int64(3 * time.Minute))
	r.until("both nodes wait for it", func() bool { return a.engine.Parked() == 1 && b.engine.Parked() == 1 })
	ahead.Store(0) // else each request counts as left behind
	_, err := r.sim.Settle(background)
	must(t, err)
	must(t, r.well.Recover(background, r.by.Account, p.ID))
	r.until("the request came", func() bool { keys, _ := r.came(); return keys == 1 })
	r.until("one node has let go", func() bool {
		return a.engine.Parked()+b.engine.Parked() == 0 && a.engine.InFlight()+b.engine.InFlight() == 1
	})
	answer()
	s, events := r.over(id)
	if got := types(events); s.Status() != workflow.Succeeded || got != "started, action_requested, action_succeeded, action_requested, action_succeeded" {
		t.Errorf("recorded %s: %+v", got, s)
	}
	if _, again := r.came(); again != 0 {
		t.Errorf("%d requests again", again)
	}
}

// TestTakeover checks that the run of a killed node belongs to this node until the node is lost, or
// until the run has not changed for long. Then another node takes the run over, and finds the
// completed actions.
func TestTakeover(t *testing.T) {
	t.Parallel()
	for _, c := range []takeover{{"workflow_run.action_requested", 0, false}, {sendCapture, 0, false}, {sendRequest, 1, false}, {sendRequest, 1, true}} {
		t.Run(fmt.Sprint(c.on, ", aged ", c.aged), func(t *testing.T) {
			t.Parallel()
			c.happens(t)
		})
	}
}

// takeover is a moment at which a node is killed.
type takeover struct {
	on    string
	again int  // HTTP requests that come again
	aged  bool // the run is taken over because it has not changed for long
}

// happens kills a node and lets another one take its run over.
func (c takeover) happens(t *testing.T) {
	r := newRig(t)
	half := domain.Amount(1000)
	flow := r.workflow(workflow.Definition{Actions: []workflow.Action{
		{Type: workflow.Capture, Amount: &half}, {Type: workflow.HTTPRequest, URL: r.url},
	}})
	p := r.pay()
	f := newFault(c.on, 1, crashAfter)
	first := r.start(nodeConfig{shared: true, fault: f})
	<-f.hit
	first.kill()
	key := eventstore.WorkflowRuns.Key(r.by.Account, string(r.runOf(flow, p)))
	var ahead atomic.Int64
	var lost atomic.Uint64
	stands := time.Now() // however long the machine takes, the run does not count as left behind
	second := r.start(nodeConfig{
		shared: true, now: func() time.Time { return stands.Add(time.Duration(ahead.Load())) },
		lost: lost.Load, left: func(string) bool { return lost.Load() > 0 },
	})
	r.planned(second)
	if tip, err := eventstore.Load(background, r.well.store, eventstore.WorkflowRuns, key, eventstore.Latest); err != nil || !tip.State.Open() {
		t.Fatalf("taken over at once: %+v %v", tip.State, err)
	}
	if c.aged {
		ahead.Store(int64(3 * time.Minute))
	} else {
		lost.Store(1)
	}
	s, events := r.over(r.runOf(flow, p))
	want := "started, action_requested, action_succeeded, action_requested, action_succeeded"
	if c.on == sendRequest { // recorded once more by the node that takes it over
		want = "started, action_requested, action_succeeded, action_requested, action_requested, action_succeeded"
	}
	if got := types(events); s.Status() != workflow.Succeeded || got != want {
		t.Errorf("recorded %s: %+v", got, s)
	}
	if got := r.books(p.ID); got != "authorize SUCCEEDED, capture SUCCEEDED" {
		t.Errorf("the books have %s", got)
	}
	if _, again := r.came(); again != c.again {
		t.Errorf("%d requests again", again)
	}
}
