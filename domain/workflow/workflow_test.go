package workflow_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/workflow"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func amount(n int64) *domain.Amount { a := domain.Amount(n); return &a }

// captures is a definition without faults.
func captures() workflow.Definition {
	return workflow.Definition{
		Name: "n", Trigger: workflow.Trigger{EventType: workflow.OnPaymentStatus, Status: "AUTHORIZED"}, Condition: "true",
		Actions: []workflow.Action{{Type: workflow.Capture}},
	}
}

// changed is captures with one thing changed.
func changed(change func(*workflow.Definition)) workflow.Definition {
	d := captures()
	change(&d)
	return d
}

// TestShare checks that a share is exact and rounded down, for any amount (D19).
func TestShare(t *testing.T) {
	for _, c := range []struct {
		of    domain.Amount
		share int64
		want  domain.Amount
	}{
		{2500, 500_000, 1250}, {2501, 500_000, 1250}, {100, 290_000, 29}, {1, 999_999, 0}, {3, 333_333, 0}, {3, 333_334, 1},
		{domain.MaxAmount, workflow.WholeShare, domain.MaxAmount}, {domain.MaxAmount, 999_999, 9007190247541736}, {0, 500_000, 0},
	} {
		a := workflow.Action{Type: workflow.Capture, Share: c.share}.Resolved(c.of)
		if a.Share != 0 || a.Amount == nil || *a.Amount != c.want {
			t.Errorf("%d millionths of %d are %v, want %d", c.share, c.of, *a.Amount, c.want)
		}
	}
	if a := (workflow.Action{Type: workflow.Capture}).Resolved(2500); a.Amount != nil {
		t.Errorf("all that is left became %d", *a.Amount)
	}
}

// TestFaults checks that each limit is enforced, and that the fault names its path.
func TestFaults(t *testing.T) {
	if found := captures().Faults(); found != nil {
		t.Fatalf("%v", found)
	}
	action := func(a workflow.Action) func(*workflow.Definition) {
		return func(d *workflow.Definition) { d.Actions = append(d.Actions, a) }
	}
	for name, c := range map[string]struct {
		change func(*workflow.Definition)
		want   string
	}{
		"no name":          {func(d *workflow.Definition) { d.Name = "" }, "$.name"},
		"long name":        {func(d *workflow.Definition) { d.Name = strings.Repeat("n", 101) }, "$.name"},
		"event type":       {func(d *workflow.Definition) { d.Trigger.EventType = "PAYMENT.CAPTURE.FAILED" }, "$.trigger.eventType"},
		"no status":        {func(d *workflow.Definition) { d.Trigger.Status = "" }, "$.trigger.status"},
		"unknown status":   {func(d *workflow.Definition) { d.Trigger.Status = "PAID" }, "$.trigger.status"},
		"status of refund": {func(d *workflow.Definition) { d.Trigger.EventType = workflow.OnPaymentRefund }, "$.trigger.status"},
		"no condition":     {func(d *workflow.Definition) { d.Condition = "" }, "$.condition"},
		"long condition":   {func(d *workflow.Definition) { d.Condition = strings.Repeat("1", 2001) }, "$.condition"},
		"negative delay":   {func(d *workflow.Definition) { d.DelaySeconds = -1 }, "$.delaySeconds"},
		"long delay":       {func(d *workflow.Definition) { d.DelaySeconds = workflow.MaxDelay + 1 }, "$.delaySeconds"},
		"no action":        {func(d *workflow.Definition) { d.Actions = nil }, "$.actions"},
		"many actions":     {func(d *workflow.Definition) { d.Actions = slices.Repeat(d.Actions, 11) }, "$.actions"},
		"type":             {action(workflow.Action{Type: "adjust"}), "$.actions[1].type"},
		"zero":             {action(workflow.Action{Type: workflow.Capture, Amount: amount(0)}), "$.actions[1].amount"},
		"share and amount": {action(workflow.Action{Type: workflow.Capture, Amount: amount(1), Share: 1}), "$.actions[1].share"},
		"share above 1":    {action(workflow.Action{Type: workflow.Capture, Share: workflow.WholeShare + 1}), "$.actions[1].share"},
		"share of refund":  {action(workflow.Action{Type: workflow.Refund, Share: 1}), "$.actions[1].share"},
		"amount of cancel": {action(workflow.Action{Type: workflow.Cancel, Amount: amount(1)}), "$.actions[1].amount"},
		"no url":           {action(workflow.Action{Type: workflow.HTTPRequest}), "$.actions[1].url"},
		"url of capture":   {action(workflow.Action{Type: workflow.Capture, URL: "https://x"}), "$.actions[1].url"},
		"reason elsewhere": {action(workflow.Action{Type: workflow.Capture, Reason: "r"}), "$.actions[1].reason"},
	} {
		found := changed(c.change).Faults()
		if len(found) == 0 || found[0].Path != c.want || found[0].Description == "" {
			t.Errorf("%s: %v, want %s", name, found, c.want)
		}
	}
}

// book plays commands on an account's workflows.
type book struct {
	t *testing.T
	s workflow.State
}

func (b *book) do(e workflow.Event, err error) workflow.Event {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
	if e != nil {
		b.s = workflow.Evolve(b.s, e)
	}
	return e
}

// TestVersions checks that exactly a change of a workflow's behaviour makes a version (D19).
func TestVersions(t *testing.T) {
	b := &book{t: t}
	b.do(workflow.DecideCreate(b.s, workflow.Create{At: noon, Account: "acct", ID: "w1", Definition: captures(), Enabled: true}))
	off, on := false, true
	for i, c := range []struct {
		d       workflow.Definition
		enabled *bool
		version int64
		is      bool
		event   string // "" for none
	}{
		{captures(), nil, 1, true, ""}, {captures(), &on, 1, true, ""}, {captures(), &off, 1, false, "workflow.disabled"},
		{captures(), nil, 1, false, ""}, {changed(func(d *workflow.Definition) { d.Name = "m" }), nil, 2, false, "workflow.changed"},
		{captures(), &on, 3, true, "workflow.changed"}, {changed(func(d *workflow.Definition) { d.DelaySeconds = 1 }), nil, 4, true, "workflow.changed"},
		{changed(func(d *workflow.Definition) { d.DelaySeconds, d.Actions[0].Final = 1, &on }), nil, 4, true, ""}, // final is the default
		{changed(func(d *workflow.Definition) { d.Actions[0].Amount = amount(5) }), nil, 5, true, "workflow.changed"},
		{changed(func(d *workflow.Definition) { d.Actions[0].Amount = amount(5) }), nil, 5, true, ""},
	} {
		e := b.do(workflow.DecideChange(b.s, workflow.Change{At: noon.Add(time.Duration(i) * time.Second), ID: "w1", Definition: c.d, Enabled: c.enabled}))
		got := ""
		if e != nil {
			got = e.Type()
		}
		if w, _ := b.s.Find("w1"); w.Version != c.version || w.Enabled != c.is || got != c.event {
			t.Errorf("step %d: version %d, enabled %v, by %q; want %+v", i, w.Version, w.Enabled, got, c)
		}
	}
	for _, decide := range []func() (workflow.Event, error){
		func() (workflow.Event, error) {
			return workflow.DecideChange(b.s, workflow.Change{ID: "w2", Definition: captures()})
		},
		func() (workflow.Event, error) {
			return workflow.DecideEnable(b.s, workflow.Enable{ID: "w2", Enabled: true})
		},
	} {
		if _, err := decide(); domain.ReasonOf(err) != domain.ReasonEntityNotFound {
			t.Errorf("an unknown workflow: %v", err)
		}
	}
	if found := b.s.StartedBy(workflow.OnPaymentStatus); len(found) != 1 || len(b.s.StartedBy(workflow.OnPaymentRefund)) != 0 {
		t.Errorf("started are %v", found)
	}
}

// TestRoom: an account's workflows are few, and small in all.
func TestRoom(t *testing.T) {
	b := &book{t: t}
	large := changed(func(d *workflow.Definition) {
		d.Condition = strings.Repeat("1", workflow.MaxCondition)
		d.Actions = slices.Repeat([]workflow.Action{{Type: workflow.HTTPRequest, URL: strings.Repeat("u", workflow.MaxURL)}}, workflow.MaxActions)
	})
	create := func(d workflow.Definition) error {
		e, err := workflow.DecideCreate(b.s, workflow.Create{At: noon, Account: "acct", ID: domain.WorkflowID(rune('a' + len(b.s.Workflows))), Definition: d})
		if err == nil {
			b.s = workflow.Evolve(b.s, e)
		}
		return err
	}
	var err error
	for err == nil {
		err = create(large)
	}
	if n := len(b.s.Workflows); n != 7 || domain.ReasonOf(err) != domain.ReasonRequestValidation {
		t.Errorf("%d large ones, then %v", n, err)
	}
	if _, err := workflow.DecideChange(b.s, workflow.Change{ID: b.s.Workflows[0].ID, Definition: large}); err != nil {
		t.Errorf("a workflow counts against itself: %v", err)
	}
	for err = nil; err == nil; {
		err = create(captures())
	}
	if len(b.s.Workflows) != workflow.MaxWorkflows {
		t.Errorf("%d workflows, then %v", len(b.s.Workflows), err)
	}
}
