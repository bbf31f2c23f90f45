package workflows_test

import (
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/workflow"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/service"
	"payledger/eventstore/eventstoretest"
)

// TestOneEventOneRun checks a workflow that is changed on a node whose clock is behind, while
// another node that has begun a run of it ends. The workflow acts once on the event, by the version
// that was planned first (D19).
func TestOneEventOneRun(t *testing.T) {
	t.Parallel()
	for _, on := range []string{"workflow_run.started", "workflow_run.action_requested", "payment.capture_requested"} {
		t.Run(on, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			before, after, part := domain.Amount(1000), domain.Amount(1100), false
			flow := r.workflow(workflow.Definition{Actions: []workflow.Action{{Type: workflow.Capture, Amount: &before, Final: &part}}})
			p := r.pay()
			f := newFault(on, 1, crashAfter)
			n := r.start(nodeConfig{fault: f})
			<-f.hit
			n.kill()
			d := flow.Definition
			d.Actions = []workflow.Action{{Type: workflow.Capture, Amount: &after, Final: &part}}
			changed := r.changeAsOf(flow, d, p.Authorization().Answer().At.Add(-50*time.Millisecond))
			if changed.Version != 2 {
				t.Fatalf("%+v", changed)
			}
			n = r.start(nodeConfig{})
			s, _ := r.over(r.runOf(flow, p))
			r.planned(n)
			if got := r.books(p.ID); s.Workflow.Version != 1 || got != "authorize SUCCEEDED, capture SUCCEEDED" {
				t.Errorf("one trigger event: version %d, the books have %s", s.Workflow.Version, got)
			}
			if captured := r.payment(p.ID).Captured(); captured != before {
				t.Errorf("captured %d", captured)
			}
		})
	}
}

// changeAsOf changes a workflow on a node whose clock shows another time.
func (r *rig) changeAsOf(w workflow.Workflow, d workflow.Definition, at time.Time) workflow.Workflow {
	r.t.Helper()
	config := r.config
	config.Now = func() time.Time { return at }
	behind := eventstoretest.OpenOn(r.t, config)
	api := service.New(commands.Config{Store: behind, Secrets: r.well.vault, PaymentTimeout: time.Second, Random: rand.Reader, Logger: zerolog.Nop()})
	r.t.Cleanup(api.Close)
	changed, err := api.ChangeWorkflow(background, r.by, w.ID, d, nil)
	must(r.t, err)
	return changed
}

// planned waits until a node has planned everything so far: a further payment's run is over.
func (r *rig) planned(n *node) {
	r.t.Helper()
	last := r.workflow(workflow.Definition{Condition: "false", Actions: []workflow.Action{{Type: workflow.Cancel}}})
	shards := map[int]bool{}
	for range 400 { // a reader keeps the order of each shard only
		p := r.pay()
		r.over(r.runOf(last, p))
		if shards[r.well.store.ShardOf(eventstore.Payments.Key(r.by.Account, string(p.ID)))] = true; len(shards) == r.well.store.Shards() {
			return
		}
	}
	r.t.Fatal("payments of some shard are not planned")
}

// TestOthersGoOn checks that a workflow with a condition that would not end, from a time before
// such conditions were refused, delays neither the account's other workflows nor the views.
func TestOthersGoOn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	endless := r.workflow(workflow.Definition{
		Condition: "[[1]]" + strings.Repeat(".map(a,a+a)", 40) + ".exists(z, 2 in z)", Actions: []workflow.Action{{Type: workflow.Capture}},
	})
	good := r.workflow(workflow.Definition{Actions: []workflow.Action{{Type: workflow.Cancel}}})
	n := r.start(nodeConfig{})
	p := r.pay()
	if s, _ := r.over(r.runOf(endless, p)); s.Status() != workflow.Skipped || !strings.Contains(s.Condition.Error, "map cannot be used") {
		t.Errorf("%+v", s)
	}
	if s, _ := r.over(r.runOf(good, p)); s.Status() != workflow.Succeeded || r.payment(p.ID).Status() != payment.StatusCancelled {
		t.Errorf("%+v", s)
	}
	must(t, n.engine.Healthy())
	n.end()
}

// TestAllowance checks that the cost of an account's conditions on one event is bounded together,
// and that the conditions beyond the bound report this.
func TestAllowance(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ten := "[0,1,2,3,4,5,6,7,8,9]"
	costly := "payment.amount == 2500 && " + ten + ".all(a, " + ten + ".all(b, a + b < 99))" // hundreds
	var flows []workflow.Workflow
	for range 12 {
		flows = append(flows, r.workflow(workflow.Definition{Condition: costly, Actions: []workflow.Action{{Type: workflow.HTTPRequest, URL: r.url}}}))
	}
	r.start(nodeConfig{})
	p := r.pay()
	held := 0
	for i, flow := range flows {
		s, _ := r.over(r.runOf(flow, p))
		switch {
		case s.Condition.Holds && held == i:
			held++
		case s.Condition.Holds || !strings.Contains(s.Condition.Error, "together"):
			t.Errorf("workflow %d: %+v", i, s.Condition)
		}
	}
	if held < 3 || held > 11 {
		t.Errorf("%d conditions were evaluated", held)
	}
}

// TestEnabledAsChecked: who enables a workflow enables the definition that was checked. Another one
// that took its place meanwhile is checked, too, and a refusal changes nothing (D22.15).
func TestEnabledAsChecked(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	w := r.workflow(workflow.Definition{Actions: []workflow.Action{{Type: workflow.Cancel}}})
	enable := func(enabled bool, may error) (workflow.Workflow, error) {
		return r.well.EnableWorkflow(background, r.by, w.ID, enabled, func(d workflow.Definition) error {
			if d.Actions[0].Type == workflow.Cancel {
				return nil
			}
			return may
		})
	}
	if off, err := enable(false, errors.New("not asked")); err != nil || off.Enabled {
		t.Errorf("%+v, %v", off, err)
	}
	if on, err := enable(true, nil); err != nil || !on.Enabled {
		t.Errorf("%+v, %v", on, err)
	}
	_, err := enable(false, nil)
	must(t, err)
	w.Definition.Actions = []workflow.Action{{Type: workflow.Refund}}
	changed, err := r.well.ChangeWorkflow(background, r.by, w.ID, w.Definition, nil)
	must(t, err)
	refused := errors.New("refunds are not for this key")
	if _, err := enable(true, refused); !errors.Is(err, refused) || changed.Enabled {
		t.Errorf("the exchanged definition: %v", err)
	}
	if all, err := r.well.Workflows(background, r.by.Account); err != nil {
		t.Error(err)
	} else if now, _ := all.Find(w.ID); now.Enabled {
		t.Error("the exchanged definition is enabled")
	}
}
