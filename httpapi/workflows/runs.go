package workflows

import (
	"payledger/domain"
	"payledger/domain/workflow"
	"payledger/eventstore/workflows"
	"payledger/httpapi/request"
	"payledger/httpapi/validation"
	"payledger/projections"
	"payledger/projections/paymentjson"
)

// seenAnswer is a value that a condition read.
type seenAnswer struct {
	Path  string `json:"path"`
	Value string `json:"value"`
}

// verdictAnswer is what a condition came to.
type verdictAnswer struct {
	Holds  bool         `json:"holds"`
	Error  string       `json:"error,omitempty"`
	Values []seenAnswer `json:"values"`
}

// stepAnswer is an action of a run.
type stepAnswer struct {
	ID string `json:"id"`
	actionBody
	Status      workflow.StepState  `json:"status"`
	RequestedAt *paymentjson.Time   `json:"requestedAt,omitempty"`
	EndedAt     *paymentjson.Time   `json:"endedAt,omitempty"`
	Operation   domain.OperationKey `json:"operation,omitempty"`
	StatusCode  int64               `json:"statusCode,omitempty"`
}

// triggerAnswer is the event that started a run.
type triggerAnswer struct {
	EventType string           `json:"eventType"`
	EventID   string           `json:"eventId"`
	Sequence  uint64           `json:"sequence"`
	Date      paymentjson.Time `json:"date"`
}

// runAnswer is a run of a workflow.
type runAnswer struct {
	ID        domain.RunID       `json:"id"`
	Workflow  workflow.Ref       `json:"workflow"`
	Status    workflow.Status    `json:"status"`
	StartedAt paymentjson.Time   `json:"startedAt"`
	UpdatedAt paymentjson.Time   `json:"updatedAt"`
	DueAt     paymentjson.Time   `json:"dueAt"`
	PaymentID domain.PaymentID   `json:"paymentId"`
	Trigger   triggerAnswer      `json:"trigger"`
	Condition verdictAnswer      `json:"condition"`
	Actions   []stepAnswer       `json:"actions"`
	LastError *workflow.RunError `json:"lastError,omitempty"`
}

// ListRuns serves GET /management/workflows/{id}/runs.
func (h *Handlers) ListRuns(c *request.Call) (any, error) {
	if _, err := h.workflow(c); err != nil {
		return nil, err
	}
	query := c.Query
	from, err := c.Cursors("runs", workflowID(c)).Place(query.Get("cursor"))
	if err != nil {
		return nil, err // runRules have seen it
	}
	var after *projections.RunPlace
	if from != nil {
		after = &projections.RunPlace{At: from.At, ID: domain.RunID(from.ID)}
	}
	found, next, err := h.Reader.Runs(c.Ctx, c.Merchant.ID, workflowID(c), after, request.Limit(query))
	if err != nil {
		return nil, err
	}
	answer := request.List[runAnswer]{Data: make([]runAnswer, len(found))}
	for i, r := range found {
		answer.Data[i] = renderRun(r)
	}
	if next != nil {
		answer.NextCursor = c.Cursors("runs", workflowID(c)).Text(&projections.Place{At: next.At, ID: domain.PaymentID(next.ID)})
	}
	return answer, nil
}

// runRules: D20.
func runRules(v *validation.Violations, c *request.Call) {
	if _, err := c.Cursors("runs", workflowID(c)).Place(c.Query.Get("cursor")); err != nil {
		v.Add("$.cursor", "is not a cursor of this list")
	}
}

func renderRun(s workflow.RunState) runAnswer {
	a := runAnswer{
		ID: s.ID, Workflow: s.Workflow, Status: s.Status(), StartedAt: paymentjson.Time{Time: s.StartedAt},
		UpdatedAt: paymentjson.Time{Time: s.UpdatedAt}, DueAt: paymentjson.Time{Time: s.DueAt}, PaymentID: s.Payment, LastError: s.Error,
		Trigger:   triggerAnswer{s.Trigger.EventType, s.Trigger.EventID, s.Trigger.Sequence, paymentjson.Time{Time: s.Trigger.At}},
		Condition: verdictAnswer{s.Condition.Holds, s.Condition.Error, make([]seenAnswer, len(s.Condition.Seen))},
		Actions:   make([]stepAnswer, len(s.Steps)),
	}
	for i, seen := range s.Condition.Seen {
		a.Condition.Values[i] = seenAnswer(seen)
	}
	for i, step := range s.Steps {
		answer := stepAnswer{
			ID: step.ID, actionBody: renderAction(step.Action), Status: step.State,
			Operation: step.Result.Operation, StatusCode: step.Result.StatusCode,
		}
		if step.RequestedAt != nil {
			answer.RequestedAt = &paymentjson.Time{Time: *step.RequestedAt}
		}
		if step.EndedAt != nil {
			answer.EndedAt = &paymentjson.Time{Time: *step.EndedAt}
		}
		a.Actions[i] = answer
	}
	return a
}

// effectAnswer is what an action would have done.
type effectAnswer struct {
	Type    string        `json:"type"`
	Amount  domain.Amount `json:"amount,omitempty"`
	Refusal string        `json:"refusal,omitempty"`
}

// simulatedAnswer is what would have become of one trigger event.
type simulatedAnswer struct {
	PaymentID    domain.PaymentID `json:"paymentId"`
	EventID      string           `json:"eventId"`
	Sequence     uint64           `json:"sequence"`
	Date         paymentjson.Time `json:"date"`
	CurrencyCode domain.Currency  `json:"currencyCode"`
	Actions      []effectAnswer   `json:"actions"`
}

// sumAnswer adds up what one action would have done, by currency.
type sumAnswer struct {
	Action       int             `json:"action"` // from 1
	Type         string          `json:"type"`
	CurrencyCode domain.Currency `json:"currencyCode"`
	Count        int             `json:"count"`
	Refused      int             `json:"refused"`
	Amount       domain.Amount   `json:"amount"`
}

// simulationAnswer is what a workflow would have done.
type simulationAnswer struct {
	Events    int               `json:"events"`
	Triggered int               `json:"triggered"`
	Runs      int               `json:"runs"`
	Errors    int               `json:"errors"`
	Payments  []simulatedAnswer `json:"payments"`
	More      bool              `json:"more"`
	Sums      []sumAnswer       `json:"sums"`
}

// SimulateWorkflow serves POST /management/workflows/{id}/simulate.
func (h *Handlers) SimulateWorkflow(c *request.Call) (any, error) {
	body, err := request.Decode[simulationRequest](c)
	if err != nil {
		return nil, err
	}
	w, err := h.workflow(c)
	if err != nil {
		return nil, err
	}
	s := workflows.Simulation{Account: c.Merchant.ID, ID: w.ID, Workflow: w.Definition}
	if s.From, err = bound(body.From); err != nil {
		return nil, err // simulationRules have seen them
	}
	if s.To, err = bound(body.To); err != nil {
		return nil, err
	}
	report, err := h.Engine.Simulate(c.Ctx, s)
	if err != nil {
		return nil, err
	}
	return renderReport(report), nil
}

func renderReport(r workflows.Report) simulationAnswer {
	a := simulationAnswer{
		Events: r.Events, Triggered: r.Triggered, Runs: r.Met, Errors: r.Errors, More: r.More,
		Payments: make([]simulatedAnswer, len(r.Payments)), Sums: make([]sumAnswer, len(r.Sums)),
	}
	for i, p := range r.Payments {
		one := simulatedAnswer{
			PaymentID: p.Payment, EventID: p.Occasion.EventID, Sequence: p.Occasion.Sequence, Date: paymentjson.Time{Time: p.Occasion.At},
			CurrencyCode: p.Currency, Actions: make([]effectAnswer, len(p.Effects)),
		}
		for j, e := range p.Effects {
			one.Actions[j] = effectAnswer{e.Action.Type, e.Amount, e.Refusal}
		}
		a.Payments[i] = one
	}
	for i, s := range r.Sums {
		a.Sums[i] = sumAnswer{s.Step + 1, s.Type, s.Currency, s.Count, s.Refused, s.Amount}
	}
	return a
}
