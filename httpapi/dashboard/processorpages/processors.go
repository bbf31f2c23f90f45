package processorpages

import (
	"net/http"
	"slices"

	"payledger/domain/account"
	"payledger/domain/processor"
	"payledger/httpapi/dashboard/frame"
)

type processorForm struct {
	frame.Form
	Processor account.Processor
	Now       []frame.Fact // if the processor has changed since the form was opened
	Depending []account.RouteList
	Last      bool // no other processor takes payments
}

// opened is a processor, with the lists that refuse payments without it.
type opened struct {
	account.Processor
	Depending []account.RouteList
	Last      bool
}

func openProcessor(v *frame.Visit) (out opened, err error) {
	var list struct{ Data []connected }
	if err := v.Get(apiProcessors, nil, &list); err != nil {
		return out, err
	}
	i := slices.IndexFunc(list.Data, func(p connected) bool { return string(p.Name) == v.Request.PathValue("name") })
	if i < 0 {
		return out, frame.Missing("The account has no such processor.", "Processors and routing lists all of them.")
	}
	if out.Processor = list.Data[i].Processor; !list.Data[i].takes() {
		return out, nil
	}
	others := taking(list.Data, out.Name)
	if out.Last = !slices.ContainsFunc(processor.Names, others); out.Last {
		return out, nil
	}
	rules, err := readRouting(v)
	for _, l := range account.Routing(rules).Stopped(others) {
		if slices.Contains(l.Processors, out.Name) { // else it is stopped already
			out.Depending = append(out.Depending, l)
		}
	}
	return out, err
}

func (p opened) form(f frame.Form) processorForm {
	return processorForm{Form: f, Processor: p.Processor, Depending: p.Depending, Last: p.Last}
}

func askProcessor(v *frame.Visit, p opened) error {
	out := p.form(frame.Form{Values: map[string][]string{"processorMerchantId": {p.MerchantID}, "mark": {frame.Mark(p.Processor)}}})
	if p.Enabled {
		out.Values.Set("enabled", "yes")
	}
	return out.show(v, http.StatusOK)
}

func (f processorForm) show(v *frame.Visit, status int) error {
	return v.Show(frame.Page{Name: "processor", Title: "Change " + string(f.Processor.Name), Nav: pathProcessors, Status: status, Data: f})
}

// changeProcessor saves what the form changes, if the processor is as the form's page showed it. A
// repeat changes nothing.
func changeProcessor(v *frame.Visit, p opened, form frame.Form) error {
	out := p.form(form)
	body := map[string]any{}
	if enabled := form.Has("enabled", "yes"); enabled != p.Enabled {
		body["enabled"] = enabled
	}
	if id := form.Text("processorMerchantId"); id != p.MerchantID {
		body["processorMerchantId"] = id
	}
	switch {
	case form.Review:
		return out.show(v, http.StatusOK)
	case len(body) == 0:
		return v.Redirect(pathProcessors, "unchanged")
	case out.Outdated(frame.Mark(p.Processor), "The processor has"):
		out.Now = []frame.Fact{{Name: "Your merchant id", Text: p.MerchantID}, {Name: "New payments", Text: map[bool]string{true: "may go to it", false: "do not go to it"}[p.Enabled]}}
		return out.show(v, http.StatusConflict)
	}
	sent, err := out.Send(v, http.MethodPatch, frame.Path("management", "processors", string(p.Name)), body, "", nil, "processorMerchantId")
	if err != nil {
		return err
	}
	if sent {
		return v.Redirect(pathProcessors, "saved")
	}
	return out.show(v, out.Status())
}
