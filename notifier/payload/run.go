package payload

import (
	"fmt"

	"payledger/domain"
	"payledger/domain/workflow"
	"payledger/eventstore"
	"payledger/projections/paymentjson"
)

// runPayload is the body of WORKFLOW_RUN.FAILED after its envelope, which has no notificationConfig
// (§6.5, D19).
type runPayload struct {
	PrimerAccountID domain.AccountID `json:"primerAccountId"`
	TriggerEventID  string           `json:"triggerEventId"`
	Workflow        workflow.Ref     `json:"workflow"`
	Run             failedRun        `json:"run"`
}

type failedRun struct {
	Timestamp paymentjson.Time  `json:"timestamp"` // when the run began
	ID        domain.RunID      `json:"id"`
	Status    workflow.Status   `json:"status"`
	LastError workflow.RunError `json:"lastError"`
}

// OfRun returns the members of WORKFLOW_RUN.FAILED. s is the run after the event r.
func OfRun(r *eventstore.Recorded, s workflow.RunState) (any, error) {
	if s.Error == nil {
		return nil, fmt.Errorf("notifier: %s revision %d, %s, is no failure of a workflow run", r.Key, r.Revision, r.Type)
	}
	return runPayload{
		PrimerAccountID: s.Account, TriggerEventID: s.Trigger.EventID, Workflow: s.Workflow,
		Run: failedRun{Timestamp: paymentjson.Time{Time: s.StartedAt}, ID: s.ID, Status: s.Status(), LastError: *s.Error},
	}, nil
}
