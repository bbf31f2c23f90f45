package workflow_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"payledger/domain"
	"payledger/domain/seedtest"
	"payledger/domain/workflow"
)

// begins is the start of a run of three actions.
func begins(change func(*workflow.StartRun)) workflow.StartRun {
	c := workflow.StartRun{
		At: noon.Add(time.Second), Account: "acct", Payment: "01p", Amount: 2501, Condition: workflow.Evaluation{Holds: true},
		Trigger: workflow.Occasion{EventType: workflow.OnPaymentStatus, EventID: "e1", Aggregate: "payment", AggregateID: "01p", Sequence: 2, At: noon},
		Workflow: workflow.Workflow{ID: "w1", Version: 3, Enabled: true, Definition: changed(func(d *workflow.Definition) {
			d.DelaySeconds = 60
			d.Actions = []workflow.Action{
				{Type: workflow.Capture, Share: 500_000}, {Type: workflow.HTTPRequest, URL: "https://x"}, {Type: workflow.Cancel, Reason: "r"},
			}
		})},
	}
	if change != nil {
		change(&c)
	}
	return c
}

func begun(t rapid.TB, c workflow.StartRun) workflow.RunState {
	t.Helper()
	e, err := workflow.DecideStart(workflow.RunState{}, c)
	if err != nil || e == nil {
		t.Fatalf("%v %v", e, err)
	}
	return workflow.EvolveRun(workflow.RunState{}, e)
}

// TestStart: a run has the id of its workflow and trigger, its version's actions with their
// amounts, and its time.
func TestStart(t *testing.T) {
	c := begins(nil)
	s := begun(t, c)
	if s.ID != c.RunID() || s.Status() != workflow.Waiting || !s.DueAt.Equal(noon.Add(time.Minute)) || *s.Steps[0].Action.Amount != 1250 {
		t.Errorf("%+v", s)
	}
	if again, err := workflow.DecideStart(s, c); again != nil || err != nil {
		t.Errorf("once more: %v %v", again, err)
	}
	ids := map[domain.RunID]bool{s.ID: true}
	for _, other := range []func(*workflow.StartRun){
		func(c *workflow.StartRun) { c.Workflow.ID = "w2" },
		func(c *workflow.StartRun) { c.Trigger.EventID = "e2" }, func(c *workflow.StartRun) { c.Account = "acct2" },
	} {
		ids[begins(other).RunID()] = true
	}
	if len(ids) != 4 {
		t.Errorf("%d ids of 4 runs", len(ids))
	}
	changed := begins(func(c *workflow.StartRun) { c.Workflow.Version = 4 })
	if again, err := workflow.DecideStart(s, changed); changed.RunID() != s.ID || again != nil || err != nil {
		t.Errorf("the event planned again after a change of version: %v %v", again, err)
	}
	skipped := begun(t, begins(func(c *workflow.StartRun) { c.Condition = workflow.Evaluation{Error: "no such key: a"} }))
	if skipped.Status() != workflow.Skipped || skipped.Open() || len(skipped.Steps) != 0 || skipped.Condition.Error != "no such key: a" {
		t.Errorf("%+v", skipped)
	}
}

// TestCircle: a run does not start its own workflow, and five runs lead to each other at most.
func TestCircle(t *testing.T) {
	cause := begun(t, begins(nil))
	for name, c := range map[string]struct {
		workflow domain.WorkflowID
		depth    int64
		want     workflow.Status
	}{
		"the same workflow": {"w1", 0, workflow.Skipped}, "another": {"w2", 0, workflow.Waiting},
		"the fifth": {"w2", 3, workflow.Waiting}, "the sixth": {"w2", 4, workflow.Skipped},
	} {
		cause.Depth = c.depth
		s := begun(t, begins(func(b *workflow.StartRun) { b.Workflow.ID, b.Cause = c.workflow, &cause }))
		if s.Status() != c.want || s.Depth != c.depth+1 || (s.Condition.Error != "") != (c.want == workflow.Skipped) {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// TestCausedBy checks that exactly the events with the correlation id of an action count as caused
// by it.
func TestCausedBy(t *testing.T) {
	s := begun(t, begins(nil))
	if id, is := workflow.CausedBy(s.Diagnostics(1)); !is || id != s.ID {
		t.Errorf("%s of %s", id, s.Diagnostics(1))
	}
	for _, other := range []string{"", "run.", "run.a", "run..1", "run.a b.1", "3fae9e32-9b79-4b3f-a8b9-c79404a894c0"} {
		if id, is := workflow.CausedBy(other); is {
			t.Errorf("%q was caused by %q", other, id)
		}
	}
	if !workflow.IsStepKey(s.StepKey(0)) || workflow.IsStepKey("workflow-run-1") || s.StepKey(0) == s.StepKey(1) {
		t.Errorf("%q", s.StepKey(0))
	}
}

// dumb is a run as a list of words.
type dumb struct {
	steps  []string
	failed bool
}

func (d dumb) next() int {
	return slices.IndexFunc(d.steps, func(s string) bool { return s != "SUCCEEDED" })
}

// TestRunMachine checks random commands: the actions run one after the other, each has one outcome,
// and none follows the first failure (D19).
func TestRunMachine(t *testing.T) {
	seedtest.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "actions")
		s := begun(t, begins(func(c *workflow.StartRun) {
			c.Workflow.Definition.Actions = slices.Repeat([]workflow.Action{{Type: workflow.HTTPRequest, URL: "https://x"}}, n)
		}))
		model := dumb{steps: slices.Repeat([]string{"OPEN"}, n)}
		at := noon
		decide := func(what string) {
			step := rapid.IntRange(0, n).Draw(t, "step")
			at = at.Add(time.Second)
			var e workflow.RunEvent
			var err error
			switch what {
			case "request":
				e, err = workflow.DecideRequest(s, at, step)
			case "succeed":
				e, err = workflow.DecideSuccess(s, at, step, workflow.Result{StatusCode: 200})
			case "fail":
				e, err = workflow.DecideFailure(s, at, step, "because")
			}
			allowed := !model.failed && model.next() == step
			if (err == nil) != allowed || err != nil && !errors.Is(err, workflow.ErrNotNext) {
				t.Fatalf("%s %d of %+v: %v", what, step, model, err)
			}
			if !allowed {
				return
			}
			if e == nil && (what != "request" || model.steps[step] != "REQUESTED") {
				t.Fatalf("%s %d recorded nothing", what, step)
			}
			if e != nil {
				before := s
				copied := slices.Clone(s.Steps)
				s = workflow.EvolveRun(s, e)
				if !reflect.DeepEqual(before.Steps, copied) || s.Revision != before.Revision+1 {
					t.Fatal("evolving changed the state before")
				}
			}
			model.steps[step] = map[string]string{"request": "REQUESTED", "succeed": "SUCCEEDED", "fail": "FAILED"}[what]
			model.failed = what == "fail"
		}
		t.Repeat(map[string]func(*rapid.T){
			"request": func(*rapid.T) { decide("request") }, "succeed": func(*rapid.T) { decide("succeed") }, "fail": func(*rapid.T) { decide("fail") },
			"": func(t *rapid.T) { model.check(t, s) },
		})
	})
}

func (d dumb) check(t *rapid.T, s workflow.RunState) {
	want := workflow.Running
	switch {
	case d.failed:
		want = workflow.Failed
	case d.next() < 0:
		want = workflow.Succeeded
	case d.steps[0] == "OPEN":
		want = workflow.Waiting
	}
	if s.Status() != want || s.Open() != (want == workflow.Running || want == workflow.Waiting) || (s.Error != nil) != d.failed {
		t.Fatalf("%s, not %s: %+v", s.Status(), want, d)
	}
	for i, step := range s.Steps {
		if string(step.State) != d.steps[i] || (step.EndedAt != nil) != (d.steps[i] == "SUCCEEDED" || d.steps[i] == "FAILED") {
			t.Fatalf("step %d is %+v, not %s", i, step, d.steps[i])
		}
	}
	if d.failed {
		i := slices.Index(d.steps, "FAILED")
		if s.Error.ActionID != fmt.Sprintf("%d-http_request", i+1) || s.Error.DiagnosticsID != s.Diagnostics(i) || s.Error.ApplicationID != workflow.ApplicationHTTP {
			t.Fatalf("%+v", s.Error)
		}
	}
}
