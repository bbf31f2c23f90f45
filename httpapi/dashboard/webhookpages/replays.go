package webhookpages

import (
	"cmp"
	"net/http"
	"net/url"
	"time"

	"payledger/domain"
	"payledger/httpapi/dashboard/frame"
)

type replayForm struct {
	frame.Form
	Endpoints  []endpoint
	EventTypes []eventType
	Endpoint   endpoint  // of the confirmation
	From, To   time.Time // of the confirmation
	Count      int64     // of the confirmation: webhooks that would be sent now
	Change     string    // of the confirmation: the address of the form with its input
}

var replayFields = []string{"endpointId", "from", "to", "eventTypes", "onlyFailed"}

func (f replayForm) page() frame.Page {
	f.EventTypes = eventTypes()
	return frame.Page{Name: "replayform", Title: "Replay webhooks", Nav: pathDeliveries, Status: f.Status(), Data: f}
}

// askReplay serves the form, or with step=count the confirmation: the browser's way back keeps the
// input and the idempotency key.
func askReplay(v *frame.Visit) error {
	f := replayForm{Form: frame.Form{Values: v.Request.URL.Query(), Key: v.NewKey()}}
	if kinds := f.Values["eventType"]; len(kinds) > 0 { // of a filtered list
		f.Values["eventTypes"] = kinds
	}
	for _, field := range []string{"from", "to"} {
		if text := f.Text(field); text != "" {
			_ = period(&f.Form, field, text)
		}
	}
	if f.Text("to") == "" {
		f.Values.Set("to", v.Now().UTC().Format(localTime))
	}
	f.Faults = nil // nothing was sent yet
	var err error
	if f.Endpoints, err = allEndpoints(v); err != nil {
		return err
	}
	if f.Has("step", "count") {
		f.Key = cmp.Or(f.Text("key"), f.Key)
		return f.count(v)
	}
	return v.Show(f.page())
}

// startReplay leads to the number of the webhooks and, once it is confirmed, starts the replay. The
// form's key makes a repeat harmless.
func startReplay(v *frame.Visit, form frame.Form) (err error) {
	f := replayForm{Form: form}
	f.Key = cmp.Or(f.Key, v.NewKey())
	if f.Endpoints, err = allEndpoints(v); err != nil {
		return err
	}
	body := f.body()
	if f.Review || !f.Sound() {
		return v.Show(f.page())
	}
	if f.Text("step") != "send" {
		q := f.input()
		q.Set("step", "count")
		q.Set("key", f.Key)
		return v.Redirect(frame.Address(pathReplays+"/new", q), "")
	}
	var made replay
	if err := v.Send(http.MethodPost, apiReplays, body, f.Key, &made); err != nil {
		if frame.IDOf(err) == string(domain.ReasonIdempotencyKeyExists) {
			f.Key = v.NewKey() // the input was changed after the form had started a replay
		}
		if err := f.Refused(err, replayFields...); err != nil {
			return err
		}
		return v.Show(f.page())
	}
	return v.Redirect(pathReplays+"/"+made.ID, "") // its page shows the progress
}

func (f *replayForm) body() map[string]any {
	body := map[string]any{"endpointId": f.Text("endpointId"), "onlyFailed": f.Has("onlyFailed", "yes")}
	var known bool
	if f.Endpoint, known = named(f.Endpoints, f.Text("endpointId")); !known {
		f.Fault("endpointId", "Choose the endpoint that the webhooks go to.")
	}
	for field, at := range map[string]*time.Time{"from": &f.From, "to": &f.To} {
		var err error
		if *at, err = moment(f.Text(field), field == "to"); err != nil {
			f.Fault(field, err.Error())
		}
		body[field] = frame.APITime(*at)
	}
	if kinds := f.Values["eventTypes"]; len(kinds) > 0 {
		body["eventTypes"] = kinds
	}
	return body
}

func (f replayForm) input() url.Values {
	input := url.Values{}
	for _, field := range replayFields {
		if all := f.Values[field]; len(all) > 0 {
			input[field] = all
		}
	}
	return input
}

// count shows the number of webhooks and asks for the confirmation. Nothing is sent.
func (f replayForm) count(v *frame.Visit) error {
	body := f.body()
	body["dryRun"] = true
	var dry replay
	sent, err := f.Send(v, http.MethodPost, apiReplays, body, "", &dry, replayFields...)
	if err != nil {
		return err
	}
	if !sent {
		return v.Show(f.page())
	}
	f.Count, f.Change = dry.Count, frame.Address(pathReplays+"/new", f.input())
	return v.Show(frame.Page{Name: "replayconfirm", Title: "Replay webhooks", Nav: pathDeliveries, Data: f})
}

type replay struct {
	ID         string
	EndpointID string
	From, To   time.Time
	EventTypes []string
	OnlyFailed bool
	CreatedAt  time.Time
	State      string
	Count      int64
	Done       int64
	Failure    string
	Name       string // of the endpoint
}

func showReplay(v *frame.Visit) error {
	var out replay
	err := v.Get(frame.Path("management", "webhook-replays", v.Request.PathValue("id")), nil, &out)
	if frame.StatusOf(err) == http.StatusNotFound {
		return frame.Missing("Your account has no replay with this id. Old replays are not kept.", "Look at the list of webhook deliveries.")
	}
	if err != nil {
		return err
	}
	all, err := allEndpoints(v)
	if err != nil {
		return err
	}
	out.Name = nameIn(all, out.EndpointID)
	return v.Show(frame.Page{Name: "replay", Title: "Replay of webhooks", Nav: pathDeliveries, Live: out.State == "RUNNING", Data: out})
}
