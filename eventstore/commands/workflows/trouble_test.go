package workflows_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/seedtest"
	"payledger/domain/workflow"
	"payledger/eventstore"
	"payledger/eventstore/commands/workflows"
	"payledger/eventstore/eventstoretest"
)

// unreadable is a notifier that cannot read the subject of one payment's events, or takes for ever.
type unreadable struct {
	workflows.Subjects
	payment domain.PaymentID
	until   chan bool // nil: an error

	tried *atomic.Bool // with an error
	seen  chan bool    // closed when the test has seen the error
}

func (u unreadable) Subject(ctx context.Context, r *eventstore.Recorded, eventType string, personal bool) (workflows.Subject, error) {
	switch {
	case r.ID != string(u.payment):
		return u.Subjects.Subject(ctx, r, eventType, personal)
	case u.until == nil:
		if u.tried.Swap(true) { // the health has the first error until a test has seen it
			select {
			case <-u.seen:
			case <-ctx.Done():
			}
		}
		return workflows.Subject{}, errors.New("torn")
	}
	select {
	case <-u.until:
	case <-ctx.Done():
		return workflows.Subject{}, ctx.Err()
	}
	return u.Subjects.Subject(ctx, r, eventType, personal)
}

// TestUnreadableEvent checks that health reports an unreadable event while the planner tries it.
// Then the planner begins runs that report the fault, and continues.
func TestUnreadableEvent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	flow := r.workflow(workflow.Definition{Actions: []workflow.Action{{Type: workflow.Cancel}}})
	torn, good := r.pay(), r.pay()
	seen := make(chan bool)
	n := r.start(nodeConfig{patience: 3 * time.Second, subjects: func(s workflows.Subjects) workflows.Subjects {
		return unreadable{Subjects: s, payment: torn.ID, tried: &atomic.Bool{}, seen: seen}
	}})
	r.until("the health tells", func() bool { err := n.engine.Healthy(); return err != nil && strings.Contains(err.Error(), "torn") })
	close(seen)
	s, _ := r.over(r.runOf(flow, torn))
	if s.Status() != workflow.Skipped || s.Payment != torn.ID || !strings.Contains(s.Condition.Error, "cannot be evaluated") {
		t.Errorf("%+v", s)
	}
	if s, _ := r.over(r.runOf(flow, good)); s.Status() != workflow.Succeeded {
		t.Errorf("%+v", s)
	}
	r.until("the health is good again", func() bool { return n.engine.Healthy() == nil })
}

// TestHoldsUpNobodyElse checks that an event that stops the workflows delays neither views nor
// webhooks of any number of later events.
func TestHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newRig(t)
	flow := r.workflow(workflow.Definition{Actions: []workflow.Action{{Type: workflow.Cancel}}})
	stuck, until := r.pay(), make(chan bool)
	n := r.start(nodeConfig{subjects: func(s workflows.Subjects) workflows.Subjects {
		return unreadable{Subjects: s, payment: stuck.ID, until: until}
	}})
	r.fill(1_700) // some 6,800 events
	last := r.pay()
	tip, err := eventstore.Load(background, r.well.store, eventstore.Payments, eventstore.Payments.Key(r.by.Account, string(last.ID)), eventstore.Latest)
	must(t, err)
	soon, cancel := context.WithTimeout(background, patience)
	defer cancel()
	if err := n.views.WaitFor(soon, tip.Recorded.Shard, tip.Recorded.Seq); err != nil {
		t.Errorf("the views do not come to the newest payment: %v", err)
	}
	close(until)
	if s, _ := r.over(r.runOf(flow, stuck)); s.Status() != workflow.Succeeded {
		t.Errorf("%+v", s)
	}
}

// TestCauseIsWaitedFor checks that an event that a run caused starts no workflow before that run is
// found, and counts as caused by it then.
func TestCauseIsWaitedFor(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	flow := r.workflow(workflow.Definition{Actions: []workflow.Action{{Type: workflow.HTTPRequest, URL: r.url}}})
	trigger := workflow.Occasion{EventType: workflow.OnPaymentStatus, EventID: "event", At: time.Now()}
	cause := workflow.StartRun{Account: r.by.Account, Workflow: flow, Trigger: trigger, Condition: workflow.Evaluation{Error: "no"}}
	by := r.by
	by.RequestID = workflow.RunState{ID: cause.RunID()}.Diagnostics(0)
	p := r.payWith(approved, by)
	n := r.start(nodeConfig{})
	r.until("the run is missed", func() bool {
		err := n.engine.Healthy()
		return err != nil && strings.Contains(err.Error(), "is not found")
	})
	key := eventstore.WorkflowRuns.Key(r.by.Account, string(r.runOf(flow, p)))
	if tip, err := eventstore.Load(background, r.well.store, eventstore.WorkflowRuns, key, eventstore.Latest); err != nil || tip.State.Exists() {
		t.Fatalf("began %+v %v", tip.State, err)
	}
	r.startRun(cause)
	if s, _ := r.over(r.runOf(flow, p)); s.Status() != workflow.Skipped || !strings.Contains(s.Condition.Error, "was caused by run "+string(cause.RunID())) {
		t.Errorf("%+v", s)
	}
}

// startRun records a run.
func (r *rig) startRun(c workflow.StartRun) {
	meta, err := r.well.store.NewMeta("test", "request")
	if err == nil {
		_, err = eventstore.ExecuteNew(background, r.well.store, eventstore.WorkflowRuns, eventstore.WorkflowRuns.Key(c.Account, string(c.RunID())), meta,
			func(s workflow.RunState) (workflow.RunEvent, error) {
				c.At = meta.At
				return workflow.DecideStart(s, c)
			})
	}
	if err != nil {
		r.t.Error(err)
	}
}

func (r *rig) until(what string, is func() bool) {
	r.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-tick.C {
		if is() {
			return
		}
	}
	r.t.Fatal("never: " + what)
}

// backlog records runs of a workflow that wait for their time, all about one payment's
// authorization.
func (r *rig) backlog(w workflow.Workflow, runs int, due time.Time) []workflow.StartRun {
	r.t.Helper()
	p := r.pay()
	tip, err := eventstore.Load(background, r.well.store, eventstore.Payments, eventstore.Payments.Key(r.by.Account, string(p.ID)), eventstore.Latest)
	must(r.t, err)
	at := tip.Recorded
	var running sync.WaitGroup
	made, next := make([]workflow.StartRun, runs), make(chan int)
	for range 64 {
		running.Go(func() {
			for i := range next {
				made[i] = workflow.StartRun{
					Account: r.by.Account, Workflow: w, Payment: p.ID, Amount: p.Amount, Condition: workflow.Evaluation{Holds: true},
					Trigger: workflow.Occasion{
						EventType: workflow.OnPaymentStatus, EventID: at.EventID + string(rune('a'+i%26)) + time.Duration(i).String(), Aggregate: at.Aggregate,
						AggregateID: at.ID, Sequence: at.Revision, Shard: int64(at.Shard), Seq: at.Seq, At: due.Add(-w.Definition.Delay()),
					},
				}
				r.startRun(made[i])
			}
		})
	}
	for i := range runs {
		next <- i
	}
	close(next)
	running.Wait()
	return made
}

// TestBacklog: thousands of runs that come due at once end, each once. While their receiver does
// not answer, another workflow's run takes its turn.
func TestBacklog(t *testing.T) {
	r := newRig(t)
	many := 5_000
	if seedtest.Sampled() {
		many = 200
	}
	flow := r.workflow(workflow.Definition{DelaySeconds: 3600, Condition: "false", Actions: []workflow.Action{{Type: workflow.HTTPRequest, URL: r.url}}})
	other := r.workflow(workflow.Definition{Actions: []workflow.Action{{Type: workflow.Cancel}}})
	made := r.backlog(flow, many, time.Now())
	r.held = make(chan struct{})
	answer := sync.OnceFunc(func() { close(r.held) })
	t.Cleanup(answer)
	n := r.start(nodeConfig{})
	r.until("a request came", func() bool { came, _ := r.came(); return came > 0 })
	if s, _ := r.over(r.runOf(other, r.pay())); s.Status() != workflow.Succeeded {
		t.Errorf("%+v", s)
	}
	between, _ := r.came()
	began := time.Now()
	answer()
	for came := -1; came < many; { // for as long as more come
		before := came
		r.until("more requests came", func() bool { came, _ = r.came(); return came > before })
	}
	took := time.Since(began)
	t.Logf("%d runs in %s: %.0f a second; %d of them before another workflow's run was over", many, took, float64(many)/took.Seconds(), between)
	if between >= many {
		t.Error("another workflow's run came last")
	}
	for _, c := range made[many-10:] {
		if s, _ := r.over(c.RunID()); s.Status() != workflow.Succeeded {
			t.Errorf("%+v", s)
		}
	}
	if keys, again := r.came(); keys != many || again > between { // those that were not answered may time out on a slow machine
		t.Errorf("%d requests, %d again", keys, again)
	}
	r.until("nothing is left in memory", func() bool { return n.engine.InFlight() == 0 })
}
