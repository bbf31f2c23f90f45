package httpapi

import (
	"context"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"payledger/domain"
	"payledger/domain/workflow"
	"payledger/eventstore/workflows"
	"payledger/eventstore/workflows/condition"
	"payledger/projections/paymentjson"
)

// Workflows is what the API asks of the engine that runs workflows (D19, D20).
type Workflows interface {
	// Check gives what is wrong with the condition of a workflow that the event type starts.
	Check(eventType, text string) []condition.Fault
	// Simulate replays the account's past events against a workflow; nothing is done.
	Simulate(ctx context.Context, s workflows.Simulation) (workflows.Report, error)
}

// actionBody is an action of a workflow (D19).
type actionBody struct {
	Type    string         `json:"type"`
	Amount  *domain.Amount `json:"amount,omitempty"`
	Share   *float64       `json:"share,omitempty"`
	Final   *bool          `json:"final,omitempty"`
	Reason  string         `json:"reason,omitempty"`
	OrderID string         `json:"orderId,omitempty"`
	URL     string         `json:"url,omitempty"`
}

// workflowBody is what a workflow does, as it is sent and answered (D19).
type workflowBody struct {
	Name         string           `json:"name"`
	Trigger      workflow.Trigger `json:"trigger"`
	Condition    string           `json:"condition"`
	DelaySeconds int64            `json:"delaySeconds,omitempty"`
	Actions      []actionBody     `json:"actions"`
}

// workflowRequest is the body of POST and PUT; without enabled a new one is, and an old one stays as it is.
type workflowRequest struct {
	workflowBody
	Enabled *bool `json:"enabled"`
}

// workflowAnswer is a workflow as it stands.
type workflowAnswer struct {
	ID      domain.WorkflowID `json:"id"`
	Version int64             `json:"version"`
	workflowBody
	Enabled   bool             `json:"enabled"`
	CreatedAt paymentjson.Time `json:"createdAt"`
	UpdatedAt paymentjson.Time `json:"updatedAt"`
}

// shareOf is a share in millionths; a whole number of them, or false.
func shareOf(share float64) (int64, bool) {
	_, decimals, _ := strings.Cut(strconv.FormatFloat(share, 'f', -1, 64), ".")
	return int64(math.Round(share * workflow.WholeShare)), len(decimals) <= 6
}

func (b workflowBody) definition() workflow.Definition {
	d := workflow.Definition{Name: b.Name, Trigger: b.Trigger, Condition: b.Condition, DelaySeconds: b.DelaySeconds}
	for _, a := range b.Actions {
		action := workflow.Action{Type: a.Type, Amount: a.Amount, Final: a.Final, Reason: a.Reason, OrderID: a.OrderID, URL: a.URL}
		if a.Share != nil {
			action.Share, _ = shareOf(*a.Share)
		}
		d.Actions = append(d.Actions, action)
	}
	return d
}

func renderAction(a workflow.Action) actionBody {
	body := actionBody{Type: a.Type, Amount: a.Amount, Final: a.Final, Reason: a.Reason, OrderID: a.OrderID, URL: a.URL}
	if a.Share != 0 {
		share := float64(a.Share) / workflow.WholeShare
		body.Share = &share
	}
	return body
}

func renderWorkflow(w workflow.Workflow) workflowAnswer {
	d := w.Definition
	answer := workflowAnswer{
		ID: w.ID, Version: w.Version, Enabled: w.Enabled, CreatedAt: paymentjson.Time{Time: w.CreatedAt}, UpdatedAt: paymentjson.Time{Time: w.UpdatedAt},
		workflowBody: workflowBody{
			Name: d.Name, Trigger: d.Trigger, Condition: d.Condition, DelaySeconds: d.DelaySeconds, Actions: make([]actionBody, len(d.Actions)),
		},
	}
	for i, a := range d.Actions {
		answer.Actions[i] = renderAction(a)
	}
	return answer
}

// listWorkflows: GET /management/workflows.
func listWorkflows(c *call) (any, error) {
	all, err := c.api.Commands.Workflows(c.ctx, c.merchant.ID)
	if err != nil {
		return nil, err
	}
	answers := make([]workflowAnswer, len(all.Workflows))
	for i, w := range all.Workflows {
		answers[i] = renderWorkflow(w)
	}
	return page(c, answers, func(w workflowAnswer) string { return string(w.ID) })
}

// createWorkflow: POST /management/workflows.
func createWorkflow(c *call) (any, error) {
	body, err := decode[workflowRequest](c)
	if err != nil {
		return nil, err
	}
	if err := c.checkActions(body.Actions); err != nil {
		return nil, err
	}
	made, err := c.api.Commands.CreateWorkflow(c.ctx, c.caller(), body.definition(), body.Enabled == nil || *body.Enabled)
	if err != nil {
		return nil, err
	}
	return renderWorkflow(made), nil
}

// replaceWorkflow: PUT /management/workflows/{id}.
func replaceWorkflow(c *call) (any, error) {
	body, err := decode[workflowRequest](c)
	if err != nil {
		return nil, err
	}
	if err := c.checkActions(body.Actions); err != nil {
		return nil, err
	}
	changed, err := c.api.Commands.ChangeWorkflow(c.ctx, c.caller(), c.workflowID(), body.definition(), body.Enabled)
	if err != nil {
		return nil, err
	}
	return renderWorkflow(changed), nil
}

// enableWorkflow: POST /management/workflows/{id}/enable.
func enableWorkflow(c *call) (any, error) { return c.setEnabled(true) }

// disableWorkflow: POST /management/workflows/{id}/disable.
func disableWorkflow(c *call) (any, error) { return c.setEnabled(false) }

func (c *call) setEnabled(enabled bool) (any, error) {
	changed, err := c.api.Commands.EnableWorkflow(c.ctx, c.caller(), c.workflowID(), enabled)
	if err != nil {
		return nil, err
	}
	return renderWorkflow(changed), nil
}

// workflowID is the workflow that the path names.
func (c *call) workflowID() domain.WorkflowID { return domain.WorkflowID(c.vars["id"]) }

// workflow reads the workflow that the path names.
func (c *call) workflow() (workflow.Workflow, error) {
	all, err := c.api.Commands.Workflows(c.ctx, c.merchant.ID)
	if err != nil {
		return workflow.Workflow{}, err
	}
	found, known := all.Find(c.workflowID())
	if !known {
		return found, workflow.Unknown()
	}
	return found, nil
}

// checkActions refuses addresses that requests must not go to; every connect checks them again (D18, D19).
func (c *call) checkActions(actions []actionBody) error {
	var faults []domain.Violation
	for i, a := range actions {
		if a.URL == "" {
			continue
		}
		if err := c.api.CheckURL(c.ctx, a.URL); err != nil {
			faults = append(faults, domain.Violation{Path: "$.actions[" + strconv.Itoa(i) + "].url", Description: err.Error()})
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return domain.Invalid(c.operation.model, faults...)
}

// workflowRules holds a workflow to what its schema cannot say: the aggregate's own rules, and the condition, which is
// compiled (D19).
func workflowRules(v *violations, tree map[string]any, c *call) {
	var body workflowRequest
	_ = json.Unmarshal(c.body.text, &body) // what does not fit its field is left out: the schema names it
	for i, a := range body.Actions {
		if a.Share == nil {
			continue
		}
		if millionths, whole := shareOf(*a.Share); !whole || millionths < 1 {
			v.once("$.actions["+strconv.Itoa(i)+"].share", "must be above 0 and have at most 6 decimals")
		}
	}
	for _, f := range body.definition().Faults() {
		if stands(tree, f.Path) || f.Description == "is required" || strings.HasPrefix(f.Path, "$.trigger.status") {
			v.once(f.Path, f.Description)
		}
	}
	if text, is := tree["condition"].(string); !is || text == "" || v.at("$.condition") || v.at("$.trigger.eventType") {
		return
	}
	for _, fault := range c.api.Workflows.Check(body.Trigger.EventType, body.Condition) {
		v.add("$.condition", fault.String())
	}
}

// once adds a fault of a path of which none is known yet.
func (v *violations) once(path, description string) {
	if !v.at(path) {
		v.add(path, description)
	}
}

// simulationRequest is the body of POST /management/workflows/{id}/simulate (D20).
type simulationRequest struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// simulationRules: D1, D20.
func simulationRules(v *violations, tree map[string]any, _ *call) {
	from, hasFrom := v.ofDate(tree, "from")
	to, hasTo := v.ofDate(tree, "to")
	if hasFrom && hasTo {
		v.ofRange(from, to)
	}
}

func bound(text string) (*time.Time, error) {
	if text == "" {
		return nil, nil
	}
	at, err := parseTime(text)
	return &at, err
}
