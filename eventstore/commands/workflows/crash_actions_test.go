package workflows_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/domain/seedtest"
	"payledger/domain/workflow"
	"payledger/eventstore"
	"payledger/eventstore/commands/accounts"
	"payledger/eventstore/commands/payments"
	"payledger/eventstore/eventstoretest"
	"payledger/processorsim/protocol"
)

// scene is a run with its effects, and its end after a crash behind any of them.
type scene struct {
	name     string
	trigger  workflow.Trigger
	cond     string // "": of every payment
	actions  []workflow.Action
	prepare  func(*rig) payment.State
	starts   string // the type of the event that is the trigger
	effects  []string
	recorded string
	books    string
	status   payment.Status
}

var (
	onAuthorized = workflow.Trigger{EventType: workflow.OnPaymentStatus, Status: "AUTHORIZED"}
	tooMuch      = domain.Amount(9999)
	some         = domain.Amount(1000)
)

const (
	oneAction  = "started, action_requested, action_succeeded"
	twoActions = oneAction + ", action_requested, action_succeeded"
)

// scenes are the actions beside the capture and the request of TestCrashMatrix. No key is claimed:
// an action's can be sent for no other payment.
var scenes = []scene{
	{
		name: "cancel", trigger: onAuthorized, actions: []workflow.Action{{Type: workflow.Cancel, Reason: "x"}}, starts: "payment.authorized",
		effects:  []string{"payment.void_requested", "send void", "payment.voided", "workflow_run.action_succeeded"},
		recorded: oneAction, books: "authorize SUCCEEDED, void SUCCEEDED", status: payment.StatusCancelled,
	},
	{
		name: "cancel while the customer's action is completed", trigger: workflow.Trigger{EventType: workflow.OnPaymentStatus, Status: "PENDING"},
		actions: []workflow.Action{{Type: workflow.Cancel, Reason: "x"}}, prepare: (*rig).completing, starts: "payment.action_required",
		effects:  []string{"payment.cancellation_intended"},
		recorded: oneAction, books: "authorize SUCCEEDED, complete SUCCEEDED, void SUCCEEDED", status: payment.StatusCancelled,
	},
	{
		name: "refund", trigger: onAuthorized, actions: []workflow.Action{{Type: workflow.Capture}, {Type: workflow.Refund, Amount: &some}}, starts: "payment.authorized",
		effects:  []string{"payment.refund_requested", "send refund", "payment.refunded"},
		recorded: twoActions, books: "authorize SUCCEEDED, capture SUCCEEDED, refund SUCCEEDED", status: payment.StatusSettled,
	},
	{
		name: "refused by our books", trigger: onAuthorized, actions: []workflow.Action{{Type: workflow.Capture, Amount: &tooMuch}}, starts: "payment.authorized",
		effects:  []string{"payment.capture_refused", "workflow_run.failed"},
		recorded: "started, action_requested, failed", books: "authorize SUCCEEDED", status: payment.StatusAuthorized,
	},
	{
		name: "skipped", trigger: onAuthorized, cond: "payment.amount < 0", actions: []workflow.Action{{Type: workflow.Capture}}, starts: "payment.authorized",
		effects:  []string{"workflow_run.skipped", writePosition},
		recorded: "skipped", books: "authorize SUCCEEDED", status: payment.StatusAuthorized,
	},
	{
		name: "confirmed later", trigger: onAuthorized, actions: []workflow.Action{{Type: workflow.Capture}}, starts: "payment.authorized",
		prepare: func(r *rig) payment.State { return r.payWith(asyncCapture, r.by) }, effects: []string{"payment.capture_pending", "payment.captured"},
		recorded: oneAction, books: "authorize SUCCEEDED, capture SUCCEEDED", status: payment.StatusSettled,
	},
	{
		name: "dispute", trigger: workflow.Trigger{EventType: workflow.OnDisputeOpened}, actions: []workflow.Action{{Type: workflow.Refund, Amount: &some}},
		prepare: (*rig).disputed, starts: "dispute.opened", effects: []string{"workflow_run.started", "workflow_run.action_requested", "send refund", "payment.refunded", writePosition},
		recorded: oneAction, books: "authorize SUCCEEDED, capture SUCCEEDED, refund SUCCEEDED", status: payment.StatusSettled,
	},
}

// TestCrashScenes: a node that ends before or behind anything that a run does leaves it to the
// next, which brings it to the end that it would have had, with each operation in the processor's
// books once (D19).
func TestCrashScenes(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	row := 0
	for _, c := range scenes {
		for _, on := range c.effects {
			row++
			for i, w := range []failureMode{crashBefore, crashAfter} {
				if seedtest.Sampled() && row%4 != 1+2*i { // every second effect, and the two ways in turn
					continue
				}
				t.Run(c.name+": "+on+" "+string(w), func(t *testing.T) {
					t.Parallel()
					c.play(t, on, w)
				})
			}
		}
	}
}

func (c scene) play(t *testing.T, on string, w failureMode) {
	r := newRig(t)
	flow := r.workflow(workflow.Definition{Trigger: c.trigger, Condition: c.cond, Actions: c.actions})
	prepare := c.prepare
	if prepare == nil {
		prepare = (*rig).pay
	}
	p := prepare(r)
	f := newFault(on, 1, w)
	n := r.start(nodeConfig{fault: f})
	select {
	case <-f.hit:
	case <-time.After(patience):
		t.Fatal("the effect never came")
	}
	n.kill()
	must(t, r.start(nodeConfig{}).Recover(background, r.by.Account, p.ID)) // as a process does at its start
	s, events := r.over(r.runOn(flow, p.ID, c.starts))
	if got := types(events); got != c.recorded {
		t.Errorf("recorded %s: %+v", got, s)
	}
	if got := r.books(p.ID); got != c.books {
		t.Errorf("the books have %s", got)
	}
	if got := r.payment(p.ID).Status(); got != c.status {
		t.Errorf("the payment is %s", got)
	}
}

// runOn is the id of the run that a payment's first event of a type starts, or its dispute's.
func (r *rig) runOn(w workflow.Workflow, id domain.PaymentID, eventType string) domain.RunID {
	r.t.Helper()
	key := eventstore.Payments.Key(r.by.Account, string(id))
	if strings.HasPrefix(eventType, "dispute.") {
		key = eventstore.Disputes.Key(r.by.Account, string(domain.DisputeIDFor(r.by.Account, string(processor.Adyen), disputeOf(id))))
	}
	events, err := r.well.store.History(background, key)
	must(r.t, err)
	for _, e := range events {
		if e.Type == eventType {
			return domain.NewRunID(r.by.Account, w.ID, e.EventID)
		}
	}
	r.t.Fatalf("no %s", eventType)
	return ""
}

// completing makes a payment whose customer's action takes seconds to complete.
func (r *rig) completing() payment.State {
	r.t.Helper()
	p := r.create("4916994064252017", r.by)
	must(r.t, r.sim.SetFault(background, protocol.Fault{Mode: protocol.Latency, Operation: processor.Complete, DelayMs: 10_000}))
	done := make(chan error, 1)
	r.t.Cleanup(func() { must(r.t, <-done) })
	go func() {
		_, err := r.well.Resume(background, r.by, payments.ResumeInput{Payment: p.ID, Action: p.RequiredAction().Revision, Outcome: processor.Authenticated})
		done <- err
	}()
	r.until("the completion is asked for", func() bool { return len(r.payment(p.ID).Operations) == 2 })
	return p
}

func disputeOf(id domain.PaymentID) string { return fmt.Sprint("dp-", id) }

// disputed makes a payment that is settled and disputed.
func (r *rig) disputed() payment.State {
	r.t.Helper()
	p := r.pay()
	p, err := r.well.Capture(background, r.by, p.ID, payment.Capture{Final: true})
	must(r.t, err)
	must(r.t, r.well.Notify(background, "request", processor.SignedNotification{Body: "{}", Notification: processor.Notification{
		ID: "nt-1", Processor: p.Operations[0].Target.Processor, Kind: processor.Dispute, Reference: p.ID, Dispute: &processor.DisputeUpdate{
			ID: disputeOf(p.ID), MerchantID: "m", Type: processor.Chargeback, Status: processor.DisputeOpen, ReasonCode: "13.1", Amount: 700, Currency: "EUR", At: time.Now(),
		},
	}}))
	return p
}

// TestFailureIsTold: the webhook of a run that failed comes whether the node ends before or behind
// that, once recorded.
func TestFailureIsTold(t *testing.T) {
	t.Parallel()
	for _, w := range []failureMode{crashBefore, crashAfter} {
		t.Run(string(w), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			_, err := r.well.CreateEndpoint(background, r.by, accounts.EndpointInput{URL: r.url + hookPath, EventTypes: []string{"WORKFLOW_RUN.FAILED"}})
			must(t, err)
			flow := r.workflow(workflow.Definition{Actions: []workflow.Action{{Type: workflow.Capture, Amount: &tooMuch}}})
			p := r.pay()
			f := newFault("workflow_run.failed", 1, w)
			n := r.start(nodeConfig{fault: f})
			<-f.hit
			n.kill()
			r.start(nodeConfig{})
			s, _ := r.over(r.runOf(flow, p))
			if s.Status() != workflow.Failed || s.Error.ApplicationID != workflow.ApplicationPayments {
				t.Errorf("%+v", s)
			}
			r.until("the webhook came", func() bool {
				r.mu.Lock()
				defer r.mu.Unlock()
				return len(r.hooks) > 0 && strings.Contains(r.hooks[0], string(s.ID)) && strings.Contains(r.hooks[0], "WORKFLOW_RUN.FAILED")
			})
		})
	}
}

// TestLongWait checks that a run that waits long for an outcome has no place in memory, and
// continues when the outcome comes, also after a crash.
func TestLongWait(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	flow := r.workflow(workflow.Definition{Actions: []workflow.Action{{Type: workflow.Capture}, {Type: workflow.Refund, Amount: &some}}})
	p := r.payWith(refundFails, r.by)
	first := r.start(nodeConfig{})
	r.until("the run waits without a place", func() bool { return first.engine.Parked() == 1 && first.engine.InFlight() == 0 })
	first.kill()
	must(t, r.start(nodeConfig{}).Recover(background, r.by.Account, p.ID))
	_, err := r.sim.Settle(background)
	must(t, err)
	s, events := r.over(r.runOf(flow, p))
	if got := types(events); s.Status() != workflow.Failed || got != oneAction+", action_requested, failed" {
		t.Errorf("recorded %s: %+v", got, s)
	}
	if got := r.books(p.ID); got != "authorize SUCCEEDED, capture SUCCEEDED, refund FAILED" {
		t.Errorf("the books have %s", got)
	}
}
