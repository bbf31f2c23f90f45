package webhookpages

import (
	"net/http"
	"net/url"
	"time"

	"payledger/domain"
	"payledger/httpapi/dashboard/frame"
)

// replayForm is the content of the page that starts a replay, and of the page that asks for the confirmation.
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

func (f replayForm) page(status int) frame.Page {
	f.EventTypes = eventTypes()
	return frame.Page{Name: "replayform", Title: "Replay webhooks", Nav: pathDeliveries, Status: status, Data: f}
}

// askReplay serves the form. The address may fill it in.
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
	return v.Show(f.page(http.StatusOK))
}

// startReplay counts the webhooks of a replay and shows the number. Once the user has confirmed it, the replay starts. The idempotency
// key of the form makes a repeat harmless.
func startReplay(v *frame.Visit) error {
	form, review, err := v.Input()
	if err != nil {
		return err
	}
	f := replayForm{Form: form}
	if f.Key == "" {
		f.Key = v.NewKey()
	}
	if f.Endpoints, err = allEndpoints(v); err != nil {
		return err
	}
	if review {
		return v.Show(f.page(http.StatusOK))
	}
	body := f.body()
	if !f.Sound() {
		return v.Show(f.page(http.StatusUnprocessableEntity))
	}
	sure := f.Text("step") == "send"
	body["dryRun"] = !sure
	key := ""
	if sure {
		key = f.Key
	}
	var made struct {
		ID    string
		Count int64
	}
	if err := v.Send(http.MethodPost, apiReplays, body, key, &made); err != nil {
		if frame.IDOf(err) == string(domain.ReasonIdempotencyKeyExists) {
			f.Key = v.NewKey() // the input was changed after the form had started a replay
		}
		if err := f.Refused(err, replayFields...); err != nil {
			return err
		}
		return v.Show(f.page(http.StatusUnprocessableEntity))
	}
	if sure {
		return v.Redirect(pathReplays+"/"+made.ID, "replayed")
	}
	return f.confirm(v, made.Count)
}

// body returns the body of the API's call. It notes missing and invalid input in the form.
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
		body[field] = apiTime(*at)
	}
	if kinds := f.Values["eventTypes"]; len(kinds) > 0 {
		body["eventTypes"] = kinds
	}
	return body
}

// confirm shows the number of webhooks and asks for the confirmation.
func (f replayForm) confirm(v *frame.Visit, count int64) error {
	f.Count = count
	input := url.Values{}
	for _, field := range replayFields {
		if all := f.Values[field]; len(all) > 0 {
			input[field] = all
		}
	}
	f.Change = frame.Address(pathReplays+"/new", input)
	return v.Show(frame.Page{Name: "replayconfirm", Title: "Replay webhooks", Nav: pathDeliveries, Data: f})
}

// replay is a replay as the API shows it.
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

// showReplay serves the progress of a replay.
func showReplay(v *frame.Visit) error {
	var out replay
	err := v.Get(frame.Path("management", "webhook-replays", v.Request.PathValue("id")), nil, &out)
	if frame.StatusOf(err) == http.StatusNotFound {
		return &frame.Failure{
			Status: http.StatusNotFound, ID: "EntityNotFound", Text: "Your account has no replay with this id. Old replays are not kept.",
			Advice: "Look at the list of webhook deliveries.",
		}
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
