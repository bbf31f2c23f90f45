package workflows

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/workflow"
	"payledger/eventstore/workers"
	"payledger/httpapi/request"
	"payledger/httpapi/validation"
	"payledger/projections/listing"
	"payledger/projections/paymentjson"
)

type actionBody struct {
	Type    string         `json:"type"`
	Amount  *domain.Amount `json:"amount,omitempty"`
	Share   *float64       `json:"share,omitempty"`
	Final   *bool          `json:"final,omitempty"`
	Reason  string         `json:"reason,omitempty"`
	OrderID string         `json:"orderId,omitempty"`
	URL     string         `json:"url,omitempty"`
}

type workflowBody struct {
	Name         string           `json:"name"`
	Trigger      workflow.Trigger `json:"trigger"`
	Condition    string           `json:"condition"`
	DelaySeconds int64            `json:"delaySeconds,omitempty"`
	Actions      []actionBody     `json:"actions"`
}

// workflowRequest is the body of POST and PUT. Without enabled a new workflow is enabled, and an
// old one keeps its state.
type workflowRequest struct {
	workflowBody
	Enabled *bool `json:"enabled"`
}

type workflowAnswer struct {
	ID      domain.WorkflowID `json:"id"`
	Version int64             `json:"version"`
	workflowBody
	Enabled   bool             `json:"enabled"`
	CreatedAt paymentjson.Time `json:"createdAt"`
	UpdatedAt paymentjson.Time `json:"updatedAt"`
}

// shareOf returns a share in millionths, false when it is not a whole number of them.
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
		body.Share = new(float64(a.Share) / workflow.WholeShare)
	}
	return body
}

func renderDefinition(d workflow.Definition) workflowBody {
	return workflowBody{
		Name: d.Name, Trigger: d.Trigger, Condition: d.Condition, DelaySeconds: d.DelaySeconds, Actions: request.Map(d.Actions, renderAction),
	}
}

func renderWorkflow(w workflow.Workflow) workflowAnswer {
	return workflowAnswer{
		ID: w.ID, Version: w.Version, workflowBody: renderDefinition(w.Definition), Enabled: w.Enabled,
		CreatedAt: paymentjson.Time{Time: w.CreatedAt}, UpdatedAt: paymentjson.Time{Time: w.UpdatedAt},
	}
}

// ListWorkflows serves GET /management/workflows.
func (h *Handlers) ListWorkflows(c *request.Call) (any, error) {
	all, err := h.Commands.Workflows(c.Ctx, c.Merchant.ID)
	if err != nil {
		return nil, err
	}
	return request.Page(c, "workflows", request.Map(all.Workflows, renderWorkflow), func(w workflowAnswer) listing.Place {
		return listing.Place{At: w.CreatedAt.Time, ID: string(w.ID)}
	})
}

// GetWorkflow serves GET /management/workflows/{id}.
func (h *Handlers) GetWorkflow(c *request.Call) (any, error) {
	found, err := h.workflow(c)
	if err != nil {
		return nil, err
	}
	return renderWorkflow(found), nil
}

// CreateWorkflow serves POST /management/workflows.
func (h *Handlers) CreateWorkflow(c *request.Call, body workflowRequest) (any, error) {
	if err := checkScopes(c, body.definition()); err != nil {
		return nil, err
	}
	if err := h.checkActions(c, body.Actions); err != nil {
		return nil, err
	}
	key, err := request.IdempotencyKey(c.Header)
	if err != nil {
		return nil, err
	}
	made, err := h.Commands.CreateWorkflow(c.Ctx, c.Caller(), key, body.definition(), body.Enabled == nil || *body.Enabled)
	return renderWorkflow(made), err
}

// ReplaceWorkflow serves PUT /management/workflows/{id}.
func (h *Handlers) ReplaceWorkflow(c *request.Call, body workflowRequest) (any, error) {
	if err := checkScopes(c, body.definition()); err != nil {
		return nil, err
	}
	if err := h.checkActions(c, body.Actions); err != nil {
		return nil, err
	}
	changed, err := h.Commands.ChangeWorkflow(c.Ctx, c.Caller(), workflowID(c), body.definition(), body.Enabled)
	return renderWorkflow(changed), err
}

// EnableWorkflow serves POST /management/workflows/{id}/enable.
func (h *Handlers) EnableWorkflow(c *request.Call) (any, error) {
	found, err := h.workflow(c)
	if err == nil {
		err = checkScopes(c, found.Definition)
	}
	if err != nil {
		return nil, err
	}
	return h.setEnabled(c, true)
}

// DisableWorkflow serves POST /management/workflows/{id}/disable.
func (h *Handlers) DisableWorkflow(c *request.Call) (any, error) { return h.setEnabled(c, false) }

func (h *Handlers) setEnabled(c *request.Call, enabled bool) (any, error) {
	may := func(d workflow.Definition) error { return checkScopes(c, d) } // the current one: it may be newer than the one read
	changed, err := h.Commands.EnableWorkflow(c.Ctx, c.Caller(), workflowID(c), enabled, may)
	return renderWorkflow(changed), err
}

func workflowID(c *request.Call) domain.WorkflowID { return domain.WorkflowID(c.Vars["id"]) }

func (h *Handlers) workflow(c *request.Call) (workflow.Workflow, error) {
	all, err := h.Commands.Workflows(c.Ctx, c.Merchant.ID)
	if err != nil {
		return workflow.Workflow{}, err
	}
	found, known := all.Find(workflowID(c))
	if !known {
		return found, workflow.NotFound()
	}
	return found, nil
}

// actionScopes are the scopes of the operations that actions carry out.
var actionScopes = map[string]string{
	workflow.Capture: account.ScopeTransactionsCapture, workflow.Cancel: account.ScopeTransactionsCancel, workflow.Refund: account.ScopeTransactionsRefund,
}

// checkScopes refuses a workflow that would move money in the name of a key that may not do it
// (D22.15).
func checkScopes(c *request.Call, d workflow.Definition) error {
	var lacks []string
	for _, a := range d.Actions {
		if scope := actionScopes[a.Type]; scope != "" && !c.Key.Allows(scope) && !slices.Contains(lacks, scope) {
			lacks = append(lacks, scope)
		}
	}
	if len(lacks) == 0 {
		return nil
	}
	return domain.Refuse(domain.KindForbidden, domain.ReasonMissingScope,
		"The API key lacks %s, which the actions of the workflow need.", strings.Join(lacks, ", "))
}

// checkActions refuses addresses that requests must not go to; each connection checks the address
// again (D18, D19). The host names are looked up at the same time: all of them take as long as one.
func (h *Handlers) checkActions(c *request.Call, actions []actionBody) error {
	refused := workers.Each(len(actions), len(actions), func(i int) error {
		if actions[i].URL == "" {
			return nil
		}
		return h.CheckURL(c.Ctx, actions[i].URL)
	})
	var faults []domain.Violation
	for i, err := range refused {
		if err != nil {
			faults = append(faults, domain.Violation{Path: "$.actions[" + strconv.Itoa(i) + "].url", Description: err.Error()})
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return domain.Invalid(c.Model, faults...)
}

// workflowRules adds the violations that the aggregate finds, and those of the condition, which the
// engine compiles (D19).
func (h *Handlers) workflowRules(v *validation.Violations, c *request.Call) {
	var body workflowRequest
	_ = json.Unmarshal(c.Body.Text, &body) // a field of another type is left out: the schema reports it
	for i, a := range body.Actions {
		if a.Share == nil {
			continue
		}
		if millionths, whole := shareOf(*a.Share); !whole || millionths < 1 {
			v.Once("$.actions["+strconv.Itoa(i)+"].share", "must be above 0 and have at most 6 decimals")
		}
	}
	for _, f := range body.definition().Faults() {
		if validation.Stands(c.Body.Tree, f.Path) || f.Description == "is required" || strings.HasPrefix(f.Path, "$.trigger.status") {
			v.Once(f.Path, f.Description)
		}
	}
	if text, is := c.Body.Tree["condition"].(string); !is || text == "" || v.Has("$.condition") || v.Has("$.trigger.eventType") {
		return
	}
	for _, fault := range h.Engine.Check(body.Trigger.EventType, body.Condition) {
		v.Add("$.condition", fault.String())
	}
}
