package workflows_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/seedtest"
	"payledger/domain/workflow"
	"payledger/eventstore"
	"payledger/eventstore/commands/workflows"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/format"
)

// TestSimulationEndsEarly checks that events after the range are not read.
func TestSimulationEndsEarly(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fill(20)
	n := r.start(nodeConfig{})
	d := defined(workflow.OnPaymentStatus, "AUTHORIZED", `true`, workflow.Action{Type: workflow.Cancel})
	all := n.simulate(t, d, nil, nil)
	if long := time.Now().Add(-time.Hour); all.Read < 80 || n.simulate(t, d, nil, &long).Read != 0 {
		t.Errorf("%d events of all, %d of none", all.Read, n.simulate(t, d, nil, &long).Read)
	}
}

// TestSimulationOverAWrongClock: a node's clock was a day ahead for a while. The events after the
// while are read, and a range of that day has the events of the while.
func TestSimulationOverAWrongClock(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const day = 24 * time.Hour
	for i, ahead := range []time.Duration{0, day, 0, 2 * day, 0} {
		r.ahead = ahead
		for payment := range 8 {
			r.live(8*i + payment)
		}
	}
	n := r.start(nodeConfig{})
	d := defined(workflow.OnPaymentStatus, "AUTHORIZED", `true`, workflow.Action{Type: workflow.Cancel})
	for days, want := range []int{24, 8, 8, 0} {
		from := time.Now().Add(time.Duration(days)*day - time.Hour)
		to := from.Add(2 * time.Hour)
		if got := n.simulate(t, d, &from, &to); got.Met != want {
			t.Errorf("day %d: %d payments, want %d", days, got.Met, want)
		}
	}
}

// TestSimulationReadsItsStretches: an event of a clock that was a year ahead is in a range without
// an end, and the events between it and the newest ones are not read. An end in the year 1 is an
// end.
func TestSimulationReadsItsStretches(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const day, between, newest = 24 * time.Hour, 60, 4
	r.ahead = 400 * day
	r.live(0)
	for i := range between + newest {
		r.ahead = 0
		if i >= between {
			r.ahead = 2 * day
		}
		r.live(1 + i)
	}
	n := r.start(nodeConfig{})
	var never time.Time // a valid date
	if got := n.simulate(t, defined(workflow.OnPaymentStatus, "AUTHORIZED", `true`), nil, &never); got.Events != 0 || got.Read != 0 {
		t.Errorf("up to the year 1: %d events, of which %d were read", got.Events, got.Read)
	}
	from := time.Now().Add(day)
	d := defined(workflow.OnPaymentStatus, "AUTHORIZED", `true`, workflow.Action{Type: workflow.Cancel})
	if got := n.simulate(t, d, &from, nil); got.Met != 1+newest || got.Read > got.Events+2*n.engine.Store.Shards() {
		t.Errorf("%d payments, %d events of which %d were read", got.Met, got.Events, got.Read)
	}
}

// TestSimulationsAtOnce: an account has one simulation at a time; a second is refused, and let in
// afterwards (D20).
func TestSimulationsAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.pay()
	until := make(chan bool)
	n := r.start(nodeConfig{subjects: func(s workflows.Subjects) workflows.Subjects {
		return unreadable{Subjects: s, payment: p.ID, until: until}
	}})
	s := workflows.Simulation{Account: r.by.Account, Workflow: defined(workflow.OnPaymentStatus, "AUTHORIZED", `true`, workflow.Action{Type: workflow.Cancel})}
	var first sync.WaitGroup
	first.Go(func() {
		_, err := n.engine.Simulate(background, s)
		for domain.ReasonOf(err) == domain.ReasonRateLimitExceeded { // the other one was first
			_, err = n.engine.Simulate(background, s)
		}
		if err != nil {
			t.Error(err)
		}
	})
	r.until("a second is refused", func() bool {
		soon, cancel := context.WithTimeout(background, 20*time.Millisecond)
		defer cancel()
		_, err := n.engine.Simulate(soon, s)
		return domain.ReasonOf(err) == domain.ReasonRateLimitExceeded
	})
	close(until)
	first.Wait()
	if report, err := n.engine.Simulate(background, s); err != nil || report.Met != 1 {
		t.Errorf("%+v %v", report, err)
	}
}

// TestSimulationKnowsCircles checks that the effects of a workflow's own runs do not start it
// again.
func TestSimulationKnowsCircles(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	some, part := domain.Amount(500), false
	d := workflow.Definition{Trigger: workflow.Trigger{EventType: workflow.OnPaymentStatus, Status: "PARTIALLY_SETTLED"}, Condition: "true",
		Actions: []workflow.Action{{Type: workflow.Capture, Amount: &some, Final: &part}}}
	starts := r.workflow(workflow.Definition{Actions: d.Actions})
	again := r.workflow(d)
	n := r.start(nodeConfig{})
	p := r.pay()
	r.over(r.runOf(starts, p))
	r.until("its capture led to a run", func() bool { return r.payment(p.ID).Captured() == 1000 })
	for id, want := range map[domain.WorkflowID]int{again.ID: 1, "": 1} {
		got, err := n.engine.Simulate(background, workflows.Simulation{Account: r.by.Account, ID: id, Workflow: d})
		if err != nil || got.Met != want {
			t.Errorf("%q: %+v %v", id, got, err)
		}
	}
	refunding := d
	refunding.Trigger.Status = "AUTHORIZED"
	if got, err := n.engine.Simulate(background, workflows.Simulation{Account: r.by.Account, ID: starts.ID, Workflow: refunding}); err != nil || got.Met != 1 {
		t.Errorf("%+v %v", got, err)
	}
	wide := d // everything that a capture leads to
	if got, err := n.engine.Simulate(background, workflows.Simulation{Account: r.by.Account, ID: starts.ID, Workflow: wide}); err != nil || got.Met != 0 || got.Triggered != 1 {
		t.Errorf("of the workflow that led to it: %+v %v", got, err)
	}
}

// TestSimulationRate checks that a simulation is quick; the bound is a tenth of the benchmark's
// rate.
func TestSimulationRate(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r, payments, least := newRig(t), 1_500, 2_000.0
	if seedtest.Sampled() { // under the race detector, which takes seven times as much
		payments, least = 500, 300
	}
	r.fill(payments)
	n := r.start(nodeConfig{})
	must(t, n.views.CaughtUp(background))
	d := defined(workflow.OnPaymentStatus, "AUTHORIZED", `payment.amount > 2000 && payment.riskData.cvvCheck.result == "MATCHED"`, workflow.Action{Type: workflow.Capture})
	best := 0.0
	for range 3 {
		before := processorTime(t)
		events := n.simulate(t, d, nil, nil).Events
		best = max(best, float64(events)/(processorTime(t)-before).Seconds())
	}
	if t.Logf("%.0f events for each second of processor time", best); best < least {
		t.Errorf("%.0f events for each second of processor time", best)
	}
}

// TestUnknownEventStops: an event of an unknown type stops the planner. The planner neither retries
// nor skips it.
func TestUnknownEventStops(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	n := r.start(nodeConfig{})
	strange := format.NewAggregate("payment", 1, []teleported{{}}, func(s int, _ teleported) int { return s + 1 })
	meta, err := r.well.store.NewMeta("test", "request")
	must(t, err)
	_, err = eventstore.ExecuteNew(background, r.well.store, strange, strange.Key(r.by.Account, "01strange"), meta,
		func(int) (teleported, error) { return teleported{}, nil })
	must(t, err)
	r.until("the planner stops", func() bool { return errors.Is(n.engine.Healthy(), format.ErrUnknownEvent) })
}

// teleported is an event that this build does not know.
type teleported struct{}

func (teleported) Type() string { return "payment.teleported" }
