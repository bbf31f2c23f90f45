package workflows

import (
	"payledger/domain"
	"payledger/domain/workflow"
	"payledger/eventstore/commands/workflows"
	"payledger/eventstore/commands/workflows/condition"
	"payledger/httpapi/request"
	"payledger/httpapi/validation"
	"payledger/projections/paymentjson"
)

type simulationRequest struct {
	From *request.Date `json:"from"`
	To   *request.Date `json:"to"`
}

// draftRequest is the body of POST /management/workflows/simulate: a definition that is not saved
// (D20).
type draftRequest struct {
	workflowBody
	simulationRequest
	// WorkflowID is the workflow that the definition is to replace; "": a new one. Events that its
	// runs caused start no run.
	WorkflowID domain.WorkflowID `json:"workflowId"`
}

// SimulateWorkflow serves POST /management/workflows/{id}/simulate.
func (h *Handlers) SimulateWorkflow(c *request.Call, body simulationRequest) (any, error) {
	w, err := h.workflow(c)
	if err != nil {
		return nil, err
	}
	return h.simulate(c, w.ID, w.Definition, body)
}

// SimulateDraft serves POST /management/workflows/simulate.
func (h *Handlers) SimulateDraft(c *request.Call, body draftRequest) (any, error) {
	if err := h.checkActions(c, body.Actions); err != nil {
		return nil, err
	}
	if body.WorkflowID != "" {
		all, err := h.Commands.Workflows(c.Ctx, c.Merchant.ID)
		if err != nil {
			return nil, err
		}
		if _, known := all.Find(body.WorkflowID); !known {
			return nil, workflow.NotFound()
		}
	}
	return h.simulate(c, body.WorkflowID, body.definition(), body.simulationRequest)
}

func (h *Handlers) simulate(c *request.Call, id domain.WorkflowID, d workflow.Definition, period simulationRequest) (any, error) {
	report, err := h.Engine.Simulate(c.Ctx, workflows.Simulation{
		Account: c.Merchant.ID, ID: id, Workflow: d, From: period.From.Pointer(), To: period.To.Pointer(),
	})
	return renderReport(report), err
}

func (h *Handlers) draftRules(v *validation.Violations, c *request.Call) {
	h.workflowRules(v, c)
	request.PeriodRule(v, c)
}

type checkRequest struct {
	EventType string `json:"eventType"`
	Condition string `json:"condition"`
}

type faultAnswer struct {
	Line    int    `json:"line"`   // from 1
	Column  int    `json:"column"` // from 1
	Message string `json:"message"`
}

type checkAnswer struct {
	Valid  bool          `json:"valid"`
	Faults []faultAnswer `json:"faults"`
}

// CheckCondition serves POST /management/workflows/check: it compiles a condition and evaluates
// nothing.
func (h *Handlers) CheckCondition(_ *request.Call, body checkRequest) (any, error) {
	faults := h.Engine.Check(body.EventType, body.Condition)
	return checkAnswer{Valid: len(faults) == 0, Faults: request.Map(faults, func(f condition.Fault) faultAnswer {
		return faultAnswer{f.Line, f.Column, f.Message}
	})}, nil
}

type effectAnswer struct {
	Type    string        `json:"type"`
	Amount  domain.Amount `json:"amount,omitempty"`
	Refusal string        `json:"refusal,omitempty"`
}

type simulatedAnswer struct {
	PaymentID    domain.PaymentID `json:"paymentId"`
	EventID      string           `json:"eventId"`
	Sequence     uint64           `json:"sequence"`
	Date         paymentjson.Time `json:"date"`
	CurrencyCode domain.Currency  `json:"currencyCode"`
	Actions      []effectAnswer   `json:"actions"`
}

type sumAnswer struct {
	Action       int             `json:"action"` // from 1
	Type         string          `json:"type"`
	CurrencyCode domain.Currency `json:"currencyCode"`
	Count        int             `json:"count"`
	Refused      int             `json:"refused"`
	Payments     int             `json:"payments"`
	Amount       domain.Amount   `json:"amount"`
}

type simulationAnswer struct {
	Events    int               `json:"events"`
	Triggered int               `json:"triggered"`
	Runs      int               `json:"runs"`
	Distinct  int               `json:"distinctPayments"`
	Errors    int               `json:"errors"`
	Payments  []simulatedAnswer `json:"payments"`
	More      bool              `json:"more"`
	Sums      []sumAnswer       `json:"sums"`
}

func renderReport(r workflows.Report) simulationAnswer {
	return simulationAnswer{
		Events: r.Events, Triggered: r.Triggered, Runs: r.Met, Distinct: r.Distinct, Errors: r.Errors, More: r.More,
		Payments: request.Map(r.Payments, func(p workflows.Simulated) simulatedAnswer {
			return simulatedAnswer{
				PaymentID: p.Payment, EventID: p.Occasion.EventID, Sequence: p.Occasion.Sequence, Date: paymentjson.Time{Time: p.Occasion.At},
				CurrencyCode: p.Currency, Actions: request.Map(p.Effects, func(e workflows.Effect) effectAnswer {
					return effectAnswer{e.Action.Type, e.Amount, e.Refusal}
				}),
			}
		}),
		Sums: request.Map(r.Sums, func(s workflows.Sum) sumAnswer {
			return sumAnswer{s.Step + 1, s.Type, s.Currency, s.Count, s.Refused, s.Payments, s.Amount}
		}),
	}
}
