package processorpages

import (
	"net/http"
	"slices"

	"payledger/domain/account"
	"payledger/httpapi/dashboard/frame"
)

type processorForm struct {
	frame.Form
	Processor account.Processor
	Now       []frame.Fact // if the processor has changed since the form was opened
}

func openProcessor(v *frame.Visit) (account.Processor, error) {
	var list struct{ Data []account.Processor }
	if err := v.Get(apiProcessors, nil, &list); err != nil {
		return account.Processor{}, err
	}
	i := slices.IndexFunc(list.Data, func(p account.Processor) bool { return string(p.Name) == v.Request.PathValue("name") })
	if i < 0 {
		return account.Processor{}, frame.Missing("The account has no such processor.", "Processors and routing lists all of them.")
	}
	return list.Data[i], nil
}

func askProcessor(v *frame.Visit, p account.Processor) error {
	out := processorForm{Processor: p, Form: frame.Form{Values: map[string][]string{"processorMerchantId": {p.MerchantID}, "mark": {frame.Mark(p)}}}}
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
func changeProcessor(v *frame.Visit, p account.Processor, form frame.Form) error {
	out := processorForm{Form: form, Processor: p}
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
	case out.Outdated(frame.Mark(p), "The processor has"):
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
