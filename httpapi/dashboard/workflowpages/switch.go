package workflowpages

import (
	"net/http"
	"path"
	"strconv"

	"payledger/httpapi/dashboard/frame"
)

type switchView struct {
	frame.Form
	Workflow flow
	Enable   bool
}

func openSwitch(v *frame.Visit) (out switchView, err error) {
	out.Enable = path.Base(v.Request.URL.Path) == "enable"
	out.Workflow, err = flowOf(v)
	return out, err
}

func (o switchView) show(v *frame.Visit, status int) error {
	title := "Disable a workflow"
	if o.Enable {
		title = "Enable a workflow"
	}
	return v.Show(frame.Page{Name: "switch", Title: title, Nav: pathWorkflows, Status: status, Data: o})
}

func askSwitch(v *frame.Visit, out switchView) error { return out.show(v, http.StatusOK) }

// turn disables the workflow, or enables the version that the form's page showed. A repeat changes
// nothing.
func turn(v *frame.Visit, out switchView, form frame.Form) error {
	out.Form = form
	if now := strconv.FormatInt(out.Workflow.Version, 10); out.Enable && form.Text("version") != now {
		out.Refusal = frame.Refusal{Text: "The workflow has changed since you opened this page: it has version " + now + " now.", Advice: "This is what it does now."}
		return out.show(v, http.StatusConflict)
	}
	if form.Review {
		return out.show(v, http.StatusOK)
	}
	verb, done := "disable", "disabled"
	if out.Enable {
		verb, done = "enable", "enabled"
	}
	sent, err := out.Send(v, http.MethodPost, frame.Path("management", "workflows", out.Workflow.ID, verb), nil, "", nil)
	if err != nil {
		return err
	}
	if !sent {
		return out.show(v, http.StatusConflict)
	}
	return v.Redirect(pathWorkflows+"/"+out.Workflow.ID, done)
}
