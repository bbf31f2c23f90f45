package workflows

import (
	"payledger/domain"
	"payledger/domain/workflow"
	"payledger/httpapi/request"
	"payledger/httpapi/validation"
	"payledger/projections/paymentjson"
)

type conditionAnswer struct {
	Holds  bool            `json:"holds"`
	Error  string          `json:"error,omitempty"`
	Values []workflow.Seen `json:"values"`
}

type stepAnswer struct {
	ID string `json:"id"`
	actionBody
	Status      workflow.StepState  `json:"status"`
	RequestedAt *paymentjson.Time   `json:"requestedAt,omitempty"`
	EndedAt     *paymentjson.Time   `json:"endedAt,omitempty"`
	Operation   domain.OperationKey `json:"operation,omitempty"`
	StatusCode  int64               `json:"statusCode,omitempty"`
}

type triggerAnswer struct {
	EventType string           `json:"eventType"`
	EventID   string           `json:"eventId"`
	Sequence  uint64           `json:"sequence"`
	Date      paymentjson.Time `json:"date"`
}

type runAnswer struct {
	ID        domain.RunID       `json:"id"`
	Workflow  workflow.Ref       `json:"workflow"`
	Status    workflow.Status    `json:"status"`
	StartedAt paymentjson.Time   `json:"startedAt"`
	UpdatedAt paymentjson.Time   `json:"updatedAt"`
	DueAt     paymentjson.Time   `json:"dueAt"`
	PaymentID domain.PaymentID   `json:"paymentId"`
	Trigger   triggerAnswer      `json:"trigger"`
	Condition conditionAnswer    `json:"condition"`
	Actions   []stepAnswer       `json:"actions"`
	LastError *workflow.RunError `json:"lastError,omitempty"`
}

type runList struct {
	request.List[runAnswer]
	Counts map[workflow.Status]int `json:"counts"` // of all runs of the workflow, of each status at most countedRuns
}

// countedRuns is the greatest number of runs of a status that an answer counts.
const countedRuns = 10_000

// ListRuns serves GET /management/workflows/{id}/runs.
func (h *Handlers) ListRuns(c *request.Call) (any, error) {
	if _, err := h.workflow(c); err != nil {
		return nil, err
	}
	statuses := runStatuses(c)
	cursors := runCursors(c)
	if err := c.ShowLag(h.Reader); err != nil {
		return nil, err
	}
	found, err := h.Reader.Runs(c.Ctx, c.Merchant.ID, workflowID(c), statuses, c.From, request.Limit(c.Query))
	if err != nil {
		return nil, err
	}
	counts, err := h.Reader.CountRuns(c.Ctx, c.Merchant.ID, workflowID(c), countedRuns)
	return runList{request.List[runAnswer]{Data: request.Map(found.Data, renderRun), NextCursor: cursors.Text(found.Next)}, counts}, err
}

func runStatuses(c *request.Call) (all []workflow.Status) {
	for _, status := range request.Several(c.Query, "status") {
		all = append(all, workflow.Status(status))
	}
	return all
}

func runCursors(c *request.Call) request.Cursors {
	if statuses := runStatuses(c); len(statuses) > 0 {
		return c.CursorsOf("runs", []any{workflowID(c), statuses})
	}
	return c.CursorsOf("runs", workflowID(c))
}

func runRules(v *validation.Violations, c *request.Call) {
	runCursors(c).Check(v, c)
}

func renderRun(s workflow.RunState) runAnswer {
	return runAnswer{
		ID: s.ID, Workflow: s.Workflow, Status: s.Status(), StartedAt: paymentjson.Time{Time: s.StartedAt},
		UpdatedAt: paymentjson.Time{Time: s.UpdatedAt}, DueAt: paymentjson.Time{Time: s.DueAt}, PaymentID: s.Payment, LastError: s.Error,
		Trigger:   triggerAnswer{s.Trigger.EventType, s.Trigger.EventID, s.Trigger.Sequence, paymentjson.Time{Time: s.Trigger.At}},
		Condition: conditionAnswer{s.Condition.Holds, s.Condition.Error, append([]workflow.Seen{}, s.Condition.Seen...)},
		Actions: request.Map(s.Steps, func(step workflow.Step) stepAnswer {
			return stepAnswer{
				ID: step.ID, actionBody: renderAction(step.Action), Status: step.State,
				RequestedAt: request.Time(step.RequestedAt), EndedAt: request.Time(step.EndedAt),
				Operation: step.Result.Operation, StatusCode: step.Result.StatusCode,
			}
		}),
	}
}
