package workflows_test

import (
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/seedtest"
	"payledger/domain/workflow"
	"payledger/eventstore"
	"payledger/eventstore/eventstoretest"
)

// effect is one thing that a run does to the world.
type effect struct {
	on  string
	nth int
}

// effects are all effects, in order, of a run that captures and sends a request to a receiver.
var effects = []effect{
	{"workflow_run.started", 1},
	{"workflow_run.action_requested", 1}, {"payment.capture_requested", 1}, {sendCapture, 1}, {"payment.captured", 1}, {"workflow_run.action_succeeded", 1},
	{"workflow_run.action_requested", 2}, {sendRequest, 1}, {"workflow_run.action_succeeded", 2},
}

// waysOf lists how an effect can go wrong. A break of the connection takes seconds: small runs
// leave it to the tests of the store.
func waysOf(e effect) []failureMode {
	ways := []failureMode{crashBefore, crashAfter}
	if strings.HasPrefix(e.on, "send") {
		return append(ways, lostBefore, lostAfter)
	}
	ways = append(ways, refuses)
	if !seedtest.Sampled() {
		ways = append(ways, lostBefore, lostAfter)
	}
	return ways
}

// TestCrashMatrix lets each effect of a run fail before it happened, or take effect and lose its
// answer, with and without the end of the process. The run continues, its capture is in the
// processor's books once, its request came under one key, and its history has each action once
// (D19).
func TestCrashMatrix(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	for i, e := range effects {
		for j, w := range waysOf(e) {
			if seedtest.Sampled() && (i+j)%3 > 0 {
				continue
			}
			name := e.on
			if e.nth > 1 {
				name += " again"
			}
			t.Run(name+" "+string(w), func(t *testing.T) {
				t.Parallel()
				crash(t, e, w)
			})
		}
	}
}

func crash(t *testing.T, e effect, w failureMode) {
	r := newRig(t)
	half := domain.Amount(1000)
	flow := r.workflow(workflow.Definition{Actions: []workflow.Action{
		{Type: workflow.Capture, Amount: &half}, {Type: workflow.HTTPRequest, URL: r.url},
	}})
	p := r.pay()
	f := newFault(e.on, e.nth, w)
	n := r.start(nodeConfig{fault: f})
	select {
	case <-f.hit:
	case <-time.After(patience):
		t.Fatal("the effect never came")
	}
	if w == crashBefore || w == crashAfter {
		n.kill()
		r.start(nodeConfig{})
	}
	s, events := r.over(r.runOf(flow, p))
	if s.Status() != workflow.Succeeded {
		t.Errorf("ended %+v", s)
	}
	if got := types(events); got != "started, action_requested, action_succeeded, action_requested, action_succeeded" {
		t.Errorf("recorded %s", got)
	}
	if got := r.books(p.ID); got != "authorize SUCCEEDED, capture SUCCEEDED" {
		t.Errorf("the books have %s", got)
	}
	keys, again := r.came()
	repeated := e.on == sendRequest && w != crashBefore && w != lostBefore || e.on == "workflow_run.action_succeeded" && e.nth == 2 ||
		e.on == "workflow_run.action_requested" && e.nth == 2 && w == crashAfter // the node may read in the log that the event is there, before it ends
	if keys != 1 || again > 0 && !repeated {
		t.Errorf("%d requests came, %d times again", keys, again)
	}
	if tip := r.payment(p.ID); tip.Status() != payment.StatusSettled || len(tip.Operations) != 2 {
		t.Errorf("the payment is %s with %+v", tip.Status(), tip.Operations)
	}
}

func (r *rig) payment(id domain.PaymentID) payment.State {
	r.t.Helper()
	tip, err := eventstore.Load(background, r.well.store, eventstore.Payments, eventstore.Payments.Key(r.by.Account, string(id)), eventstore.Latest)
	must(r.t, err)
	return tip.State
}

func types(events []*eventstore.Recorded) string {
	var got []string
	for _, r := range events {
		got = append(got, strings.TrimPrefix(r.Type, "workflow_run."))
	}
	return strings.Join(got, ", ")
}

// TestTwoNodes: two nodes plan every event, and each run is begun and taken by one of them.
func TestTwoNodes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	flow := r.workflow(workflow.Definition{Actions: []workflow.Action{{Type: workflow.Capture}, {Type: workflow.HTTPRequest, URL: r.url}}})
	r.start(nodeConfig{shared: true})
	r.start(nodeConfig{shared: true})
	var paid []payment.State
	for range 12 {
		paid = append(paid, r.pay())
	}
	for _, p := range paid {
		s, events := r.over(r.runOf(flow, p))
		if s.Status() != workflow.Succeeded || len(events) != 5 {
			t.Errorf("ended %+v after %s", s, types(events))
		}
		if got := r.books(p.ID); got != "authorize SUCCEEDED, capture SUCCEEDED" {
			t.Errorf("the books have %s", got)
		}
	}
	if keys, again := r.came(); keys != len(paid) || again != 0 {
		t.Errorf("%d requests for %d payments, %d of them again", keys, len(paid), again)
	}
}

// TestDelaySurvives: a run that waits for its time when its node ends is taken by the next one, at
// its time.
func TestDelaySurvives(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	flow := r.workflow(workflow.Definition{DelaySeconds: 2, Actions: []workflow.Action{{Type: workflow.Cancel}}})
	p := r.pay()
	first := r.start(nodeConfig{})
	id := r.runOf(flow, p)
	r.begun(id)
	first.kill()
	r.start(nodeConfig{})
	s, _ := r.over(id)
	if early := s.DueAt.Sub(*s.Steps[0].RequestedAt); s.Status() != workflow.Succeeded || early > 0 {
		t.Errorf("%s early: %+v", early, s)
	}
	if got := r.payment(p.ID).Status(); got != payment.StatusCancelled {
		t.Errorf("the payment is %s", got)
	}
}

// begun waits until a run has begun.
func (r *rig) begun(id domain.RunID) {
	r.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-tick.C {
		tip, err := eventstore.Load(background, r.well.store, eventstore.WorkflowRuns, eventstore.WorkflowRuns.Key(r.by.Account, string(id)), eventstore.Latest)
		must(r.t, err)
		if tip.State.Exists() {
			return
		}
	}
	r.t.Fatal("the run did not begin")
}
