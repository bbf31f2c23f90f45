package workflowpages

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"payledger/domain"
	"payledger/domain/workflow"
	"payledger/httpapi/dashboard/frame"
)

type editorView struct {
	frame.Form
	Before     *flow // that is changed; nil: a new one
	Action     string
	Title      string
	Lines      []line
	Triggers   []trigger
	Units      []string
	Types      []struct{ Type, Text string }
	Full       bool // there is no room for another action
	Check      *check
	Examples   []example
	Definition definition // of the form
	Converted  bool       // the amounts have another unit than on the page before
}

// Unit is the currency in which amounts are typed; "": they are in minor units.
func (o editorView) Unit() domain.Currency { return unitOf(o.Text("condition")) }

// CheckAmounts asks for a look at amounts that have another unit than on the page before.
func (o editorView) CheckAmounts() string {
	return "The amounts are in " + cmp.Or(string(o.Unit()), "minor units") + " now: check them."
}

type check struct {
	Valid  bool
	Faults []struct {
		Line, Column int
		Message      string
	}
	Warning string // of a valid condition
}

// Always reports whether the input is a condition that holds for every event.
func (o editorView) Always() bool { return cmp.Or(o.Text("condition"), always) == always }

// OnlyActions reports whether the missing action is all that was refused. It gets the focus.
func (o editorView) OnlyActions() bool { return o.Faults["actions"] != "" && len(o.Faults) == 1 }

// ConditionFault reports whether the condition is refused for a reason that the check does not
// show.
func (o editorView) ConditionFault() bool {
	return o.Faults["condition"] != "" && (o.Check == nil || o.Check.Valid)
}

type example struct{ Text, Condition string }

var (
	paymentExamples = []example{
		{"Every event", "true"},
		{"Less than 50.00 EUR", `payment.amount < 5000 && payment.currencyCode == "EUR"`},
		{"Euro from Germany", `payment.currencyCode == "EUR" && payment.order.countryCode == "DE"`},
		{"A value in the metadata", `has(payment.metadata.shop) && payment.metadata.shop == "north"`},
		{"The card security code matched", `payment.riskData.cvvCheck.result == "MATCHED"`},
	}
	disputeExamples = []example{
		{"Every event", "true"},
		{"Chargebacks of small amounts", `dispute.type == "DISPUTE" && dispute.amount < 2000`},
	}
)

func opened(v *frame.Visit) (editorView, error) {
	out := editorView{Title: "New workflow", Action: pathWorkflows + "/new", Triggers: triggers(), Types: actionTypes}
	for _, u := range units {
		out.Units = append(out.Units, u.Name)
	}
	id := v.Request.PathValue("id")
	if id == "" {
		return out, nil
	}
	before, err := flowOf(v)
	out.Before, out.Title, out.Action = &before, "Change "+before.Name, pathWorkflows+"/"+id+"/edit"
	return out, err
}

func edit(v *frame.Visit, out editorView) error {
	if out.Before != nil {
		out.Values = valuesOf(out.Before.definition)
		out.Values.Set("version", strconv.FormatInt(out.Before.Version, 10))
	} else {
		first := workflow.Trigger{EventType: workflow.OnPaymentStatus, Status: "AUTHORIZED"}
		out.Values = url.Values{"trigger": {trigger{Trigger: first}.Value()}, "delaySeconds": {"0"}, "unit": {"minutes"}}
	}
	out.Key = v.NewKey()
	p := usual(v.Now())
	out.Values.Set("from", p.From)
	out.Values.Set("to", p.To)
	return out.editor(v, http.StatusOK)
}

func (o editorView) editor(v *frame.Visit, status int) error {
	if o.Lines == nil {
		o.Lines = linesOf(o.Values)
	}
	o.Full = len(o.Lines) >= workflow.MaxActions
	o.Examples = paymentExamples
	kind, _, _ := strings.Cut(o.Text("trigger"), " ")
	if strings.HasPrefix(kind, "DISPUTE") {
		o.Examples = disputeExamples
	}
	condition := cmp.Or(o.Text("condition"), always)
	if kind != "" {
		var answer check
		err := v.Send(http.MethodPost, apiWorkflows+"/check", map[string]any{"eventType": kind, "condition": condition}, "", &answer)
		switch {
		case err == nil:
			for i, f := range answer.Faults {
				answer.Faults[i].Message = plainFault(f.Message, condition)
			}
			answer.Warning = smallAmount(condition)
			o.Check = &answer
		case frame.StatusOf(err) != http.StatusUnprocessableEntity: // too long, or a trigger that does not exist: saving names it
			return err
		}
	}
	return v.Show(frame.Page{Name: "workflow-edit", Title: o.Title, Nav: pathWorkflows, Status: status, Data: o})
}

// write serves the buttons of the editor and of the page with the simulation.
func write(v *frame.Visit, out editorView, sent frame.Form) error {
	out.Form = sent
	out.Converted = convert(out.Values)
	out.Key = cmp.Or(out.Key, v.NewKey())
	do := out.Text("do")
	switch {
	case out.Review || do == "check" || do == "edit" || do == "":
		return out.editor(v, http.StatusOK)
	case out.Converted && (do == "simulate" || do == "save" || do == "save-disabled"):
		out.Refusal.Text = out.CheckAmounts()
		return out.editor(v, http.StatusUnprocessableEntity)
	case do == "simulate":
		return out.simulate(v)
	case do == "save" || do == "save-disabled":
		return out.save(v, do == "save")
	}
	out.Lines = arranged(linesOf(out.Values), do, out.Text("type"))
	put(out.Values, out.Lines)
	return out.editor(v, http.StatusOK)
}

// simulate applies the definition to past payments and shows the result with the buttons that save.
func (o editorView) simulate(v *frame.Visit) error {
	o.Definition = definitionOf(&o.Form)
	body := struct {
		definition
		WorkflowID string `json:"workflowId,omitempty"`
		From       string `json:"from,omitempty"`
		To         string `json:"to,omitempty"`
	}{definition: o.Definition}
	if o.Before != nil {
		body.WorkflowID = o.Before.ID
	}
	days := map[string]string{}
	o.Days(func(field, at string) { days[field] = at })
	body.From, body.To = days["from"], days["to"]
	if !o.Sound() {
		return o.incomplete(v)
	}
	put(o.Values, linesOf(o.Values)) // without what no action needs
	o.Values.Del("do")
	result := resultView{Form: o.Form, Stored: o.Before, Draft: true, Action: o.Action, Definition: o.Definition}
	if err := result.run(v, apiWorkflows+"/simulate", body); err != nil {
		return o.refused(v, err)
	}
	return result.show(v, http.StatusOK)
}

// incomplete shows the editor after its input was refused. The summary names a missing action,
// which is far below it.
func (o editorView) incomplete(v *frame.Visit) error {
	if o.Faults["actions"] != "" {
		o.Refusal.Text = "The workflow has no action yet. Choose one under “Then, in this order”, and press “Add”."
		if len(o.Faults) > 1 {
			o.Refusal.Text += " Please correct the marked fields, too."
		}
	}
	return o.editor(v, http.StatusUnprocessableEntity)
}

func (o editorView) refused(v *frame.Visit, err error) error {
	if err := o.Refused(err, faultFields(linesOf(o.Values))...); err != nil {
		return err
	}
	return o.editor(v, http.StatusUnprocessableEntity)
}

func (o editorView) save(v *frame.Visit, enabled bool) error {
	o.Definition = definitionOf(&o.Form)
	if !o.Sound() {
		return o.incomplete(v)
	}
	if o.Before != nil {
		return o.replace(v)
	}
	body := struct {
		definition
		Enabled bool `json:"enabled"`
	}{o.Definition, enabled}
	var made flow
	if err := v.Send(http.MethodPost, apiWorkflows, body, o.Key, &made); err != nil {
		if frame.IDOf(err) == string(domain.ReasonIdempotencyKeyExists) {
			o.Key = v.NewKey() // the form saved another workflow before: this input is a further one
		}
		return o.refused(v, err)
	}
	return v.Redirect(pathWorkflows+"/"+made.ID, map[bool]string{true: "workflow-on", false: "workflow-off"}[enabled])
}

// replace makes a new version, if nobody else has made one since the editor was opened.
func (o editorView) replace(v *frame.Visit) error {
	path := pathWorkflows + "/" + o.Before.ID
	if o.Text("version") != strconv.FormatInt(o.Before.Version, 10) {
		if same(o.Before.definition, o.Definition) {
			return v.Redirect(path, "repeated")
		}
		o.Refusal = frame.Refusal{
			Text:   "The workflow has changed since you opened this page: it has version " + strconv.FormatInt(o.Before.Version, 10) + " now.",
			Advice: "Compare your input with the newest version. If you save again, your input replaces that version.",
		}
		o.Values.Set("version", strconv.FormatInt(o.Before.Version, 10))
		return o.editor(v, http.StatusConflict)
	}
	if err := v.Send(http.MethodPut, frame.Path("management", "workflows", o.Before.ID), o.Definition, "", nil); err != nil {
		return o.refused(v, err)
	}
	return v.Redirect(path, "saved")
}
