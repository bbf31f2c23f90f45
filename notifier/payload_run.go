package notifier

import (
	"context"
	"fmt"

	"payledger/domain"
	"payledger/domain/workflow"
	"payledger/eventstore"
	"payledger/projections/paymentjson"
)

// runPayload is the body of WORKFLOW_RUN.FAILED after its envelope, which has no notificationConfig (§6.5, D19).
type runPayload struct {
	PrimerAccountID domain.AccountID `json:"primerAccountId"`
	TriggerEventID  string           `json:"triggerEventId"`
	Workflow        workflow.Ref     `json:"workflow"`
	Run             failedRun        `json:"run"`
}

// failedRun is the run that failed.
type failedRun struct {
	Timestamp paymentjson.Time  `json:"timestamp"` // when it began
	ID        domain.RunID      `json:"id"`
	Status    workflow.Status   `json:"status"`
	LastError workflow.RunError `json:"lastError"`
}

// newRunPayload tells of the run that failed with the event r.
func newRunPayload(ctx context.Context, store *eventstore.Store, r *eventstore.Recorded) (any, error) {
	s, err := eventstore.StateAt(ctx, store, eventstore.WorkflowRuns, r)
	if err != nil {
		return nil, err
	}
	if s.Error == nil {
		return nil, fmt.Errorf("notifier: %s revision %d, %s, is no failure of a workflow run", r.Key, r.Revision, r.Type)
	}
	return runPayload{
		PrimerAccountID: s.Account, TriggerEventID: s.Trigger.EventID, Workflow: s.Workflow,
		Run: failedRun{Timestamp: paymentjson.Time{Time: s.StartedAt}, ID: s.ID, Status: s.Status(), LastError: *s.Error},
	}, nil
}
