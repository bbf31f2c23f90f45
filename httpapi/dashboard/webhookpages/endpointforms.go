package webhookpages

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"payledger/domain"
	"payledger/httpapi/dashboard/frame"
)

type endpointForm struct {
	frame.Form
	Endpoint   *endpoint // nil: a new one
	EventTypes []eventType
	Twin       *endpoint    // another endpoint with the same URL
	Now        []frame.Fact // if the endpoint has changed since the form was opened
	status     int          // 0: that of the form
}

var endpointFields = []string{"url", "description", "eventTypes"}

func (f endpointForm) page() frame.Page {
	p := frame.Page{Name: "endpointform", Title: "New webhook endpoint", Nav: pathEndpoints, Status: cmp.Or(f.status, f.Status())}
	if f.Endpoint != nil {
		p.Title = "Change a webhook endpoint"
	}
	f.EventTypes = eventTypes()
	p.Data = f
	return p
}

func askCreate(v *frame.Visit) error {
	return v.Show(endpointForm{Form: frame.Form{Values: url.Values{}}}.page())
}

// create creates an endpoint. A second one with the same URL needs a tick, so that a repeat of the
// form makes no second one.
func create(v *frame.Visit, form frame.Form) error {
	f := endpointForm{Form: form}
	if f.Review {
		return v.Show(f.page())
	}
	body := f.body()
	all, err := allEndpoints(v)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(all, func(e endpoint) bool { return e.URL == body["url"] }); i >= 0 {
		f.Twin = &all[i]
		if !f.Has("again", "yes") {
			f.Fault("url", "An endpoint with this URL exists. Tick the box below if you want a second one.")
		}
	}
	var made endpoint
	switch sent, err := f.Send(v, http.MethodPost, apiEndpoints, body, "", &made, endpointFields...); {
	case err != nil:
		return err
	case sent:
		return v.Redirect(pathEndpoints+"/"+made.ID, "endpoint-new")
	}
	return v.Show(f.page())
}

func (f *endpointForm) body() map[string]any {
	address := f.Text("url")
	if address == "" {
		f.Fault("url", "Write the address of your receiver, as in https://shop.example/webhooks.")
	}
	kinds := append([]string{}, f.Values["eventTypes"]...)
	if f.Text("which") == "all" {
		kinds = []string{}
	} else if len(kinds) == 0 {
		f.Fault("eventTypes", "Choose one event type or more, or all.")
	}
	return map[string]any{"url": address, "description": f.Text("description"), "eventTypes": kinds}
}

func askEdit(v *frame.Visit, e endpoint) error {
	values := url.Values{"url": {e.URL}, "description": {e.Description}, "eventTypes": e.EventTypes, "which": {"some"}, "mark": {frame.Mark(e)}}
	if len(e.EventTypes) == 0 {
		values.Set("which", "all")
	}
	if e.Enabled {
		values.Set("enabled", "yes")
	}
	return v.Show(endpointForm{Form: frame.Form{Values: values}, Endpoint: &e}.page())
}

// edit saves what the form changes, if the endpoint is as the form's page showed it. A repeat
// changes nothing more.
func edit(v *frame.Visit, e endpoint, form frame.Form) error {
	f := endpointForm{Form: form, Endpoint: &e}
	body := e.changes(f.body(), f.Has("enabled", "yes"))
	switch {
	case f.Review || !f.Sound():
		return v.Show(f.page())
	case len(body) == 0:
		return v.Redirect(pathEndpoints+"/"+e.ID, "unchanged")
	case f.Outdated(frame.Mark(e), "The endpoint has"):
		f.Now, f.status = e.facts(), http.StatusConflict
		return v.Show(f.page())
	}
	sent, err := f.Send(v, http.MethodPatch, frame.Path("management", "webhook-endpoints", e.ID), body, "", nil, endpointFields...)
	if err != nil {
		return err
	}
	if sent {
		return v.Redirect(pathEndpoints+"/"+e.ID, "saved")
	}
	return v.Show(f.page())
}

// changes returns those of the wanted fields that differ from the endpoint's.
func (e endpoint) changes(wanted map[string]any, enabled bool) map[string]any {
	sorted := func(kinds []string) []string { return slices.Sorted(slices.Values(kinds)) }
	same := map[string]bool{
		"url": wanted["url"] == e.URL, "description": wanted["description"] == e.Description,
		"eventTypes": slices.Equal(sorted(wanted["eventTypes"].([]string)), sorted(e.EventTypes)),
	}
	maps.DeleteFunc(wanted, func(field string, _ any) bool { return same[field] })
	if enabled != e.Enabled {
		wanted["enabled"] = enabled
	}
	return wanted
}

// facts returns the settings of the endpoint that apply.
func (e endpoint) facts() []frame.Fact {
	return []frame.Fact{
		{Name: "URL", Text: e.URL}, {Name: "Description", Text: cmp.Or(e.Description, "none")},
		{Name: "Event types", Text: cmp.Or(strings.Join(e.EventTypes, ", "), "all")},
		{Name: "State", Text: map[bool]string{true: "enabled", false: "disabled"}[e.Enabled]},
	}
}

type deletion struct {
	frame.Form
	endpointRow
	Mark string
}

func askDelete(v *frame.Visit, e endpoint) error { return deletion{}.show(v, e, http.StatusOK) }

func (d deletion) show(v *frame.Visit, e endpoint, status int) error {
	h, err := healthOf(v, e)
	if err != nil {
		return err
	}
	d.endpointRow, d.Mark = endpointRow{e, h}, cmp.Or(d.Text("mark"), frame.Mark(e))
	return v.Show(frame.Page{Name: "endpointdelete", Title: "Delete a webhook endpoint", Nav: pathEndpoints, Status: status, Data: d})
}

// remove deletes an endpoint, if it is as the form's page showed it. To delete it again does no
// harm.
func remove(v *frame.Visit, form frame.Form) error {
	d := deletion{Form: form}
	e, err := endpointOf(v)
	switch {
	case err != nil:
	case form.Review:
		return d.show(v, e, http.StatusOK)
	case d.Outdated(frame.Mark(e), "The endpoint has"):
		d.Refusal.Advice = "This is the endpoint as it is now."
		return d.show(v, e, http.StatusConflict)
	default:
		err = v.Send(http.MethodDelete, frame.Path("management", "webhook-endpoints", e.ID), nil, "", nil)
	}
	if err != nil && frame.IDOf(err) != string(domain.ReasonEntityNotFound) {
		return err
	}
	return v.Redirect(pathEndpoints, "deleted")
}

type trial struct {
	frame.Form
	Endpoint endpoint
	Result   *trialResult
}

type trialResult struct {
	attempt
	Succeeded bool
}

func askTest(v *frame.Visit, e endpoint) error {
	return v.Show(trial{Endpoint: e}.page())
}

func (t trial) page() frame.Page {
	return frame.Page{Name: "endpointtest", Title: "Test a webhook endpoint", Nav: pathEndpoints, Status: t.Status(), Data: t}
}

// sendTest sends the test message and shows how that ended. The message is no event, so a second
// one does no harm.
func sendTest(v *frame.Visit, e endpoint, form frame.Form) error {
	t := trial{Form: form, Endpoint: e}
	var done trialResult
	sent, err := t.Send(v, http.MethodPost, frame.Path("management", "webhook-endpoints", e.ID, "test"), nil, "", &done)
	if err != nil {
		return err
	}
	if sent {
		t.Result = &done
	}
	return v.Show(t.page())
}
