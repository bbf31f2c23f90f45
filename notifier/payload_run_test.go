package notifier

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/webhook"
	"payledger/domain/workflow"
	"payledger/eventstore"
	"payledger/eventstore/codec"
	"payledger/eventstore/commands/causes"
	"payledger/eventstore/eventstoretest"
	"payledger/notifier/payload"
)

// failedRunEvent is the failure of a run at its second action, as the log has it.
func failedRunEvent(t *testing.T) *eventstore.Recorded {
	t.Helper()
	share := domain.Amount(1250)
	begun, err := workflow.DecideStart(workflow.RunState{}, workflow.StartRun{
		At: goldenTime, Account: merchantID, Payment: "01golden", Amount: 2500,
		Workflow: workflow.Workflow{
			ID: "33333333-0000-4000-8000-000000000001", Version: 4, Enabled: true, Definition: workflow.Definition{
				Name: "Capture <half>, then tell", Trigger: workflow.Trigger{EventType: workflow.OnPaymentStatus, Status: "AUTHORIZED"}, Condition: "true",
				Actions: []workflow.Action{{Type: workflow.Capture, Amount: &share}, {Type: workflow.HTTPRequest, URL: "https://shop.example/hook"}},
			},
		},
		Trigger:   workflow.Occasion{EventType: workflow.OnPaymentStatus, EventID: "22222222-0000-4000-8000-000000000002", Aggregate: "payment", AggregateID: "01golden", Sequence: 2, At: goldenTime},
		Condition: workflow.Evaluation{Holds: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	var event workflow.RunEvent
	s := workflow.EvolveRun(workflow.RunState{}, begun)
	at := goldenTime.Add(3 * time.Second)
	for _, decide := range []func() (workflow.RunEvent, error){
		func() (workflow.RunEvent, error) { return workflow.DecideRequest(s, at, 0) },
		func() (workflow.RunEvent, error) {
			return workflow.DecideSuccess(s, at, 0, workflow.Result{Operation: "01golden.3"})
		},
		func() (workflow.RunEvent, error) { return workflow.DecideRequest(s, at, 1) },
		func() (workflow.RunEvent, error) {
			return workflow.DecideFailure(s, at, 1, "The receiver answered 503.")
		},
	} {
		if event, err = decide(); err != nil {
			t.Fatal(err)
		}
		s = workflow.EvolveRun(s, event)
	}
	body, err := codec.Marshal(map[string]any{"event": event, "state": s})
	if err != nil {
		t.Fatal(err)
	}
	return &eventstore.Recorded{
		Key: eventstore.WorkflowRuns.Key(merchantID, string(s.ID)), Shard: 3, Seq: 70_001, Revision: s.Revision, Type: event.Type(),
		Schema: eventstore.WorkflowRuns.Schema, EventID: "22222222-0000-4000-8000-000000000005", Time: at, Body: body,
	}
}

// TestRunPayload compares the body of WORKFLOW_RUN.FAILED with a reviewed file (§6.5, D17, D19).
func TestRunPayload(t *testing.T) {
	t.Parallel()
	r := failedRunEvent(t)
	if row, err := causes.Candidates(r); err != nil || len(row) != 1 || row[0].Kind != "WORKFLOW_RUN.FAILED" {
		t.Fatalf("%v %v", row, err)
	}
	w := writer(t, eventstoretest.Open(t, t.TempDir()), nil)
	members, err := w.Members(context.Background(), r, webhook.WorkflowRunFailed, false)
	if err != nil {
		t.Fatal(err)
	}
	endpoint := account.Endpoint{ID: goldenDelivery.Endpoint, Description: "Shop backend"}
	got, err := payload.Body{Head: payload.NewEnvelope(r, webhook.WorkflowRunFailed, endpoint), Rest: members.JSON}.SignedAt(r.Time.Add(2 * time.Second))
	if err != nil {
		t.Fatal(err)
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, got, "", "  "); err != nil {
		t.Fatal(err)
	}
	golden(t, "workflow_run_failed.json", append(pretty.Bytes(), '\n'))
}
