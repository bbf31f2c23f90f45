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
	out := processorForm{Processor: p, Form: frame.Form{Values: map[string][]string{"processorMerchantId": {p.MerchantID}}}}
	if p.Enabled {
		out.Values.Set("enabled", "yes")
	}
	return out.show(v)
}

func (f processorForm) show(v *frame.Visit) error {
	return v.Show(frame.Page{Name: "processor", Title: "Change " + string(f.Processor.Name), Nav: pathProcessors, Status: f.Status(), Data: f})
}

// changeProcessor saves the form. A repeat changes nothing.
func changeProcessor(v *frame.Visit, p account.Processor, form frame.Form) error {
	out := processorForm{Form: form, Processor: p}
	body := map[string]any{"enabled": form.Has("enabled", "yes"), "processorMerchantId": form.Text("processorMerchantId")}
	switch sent, err := out.Send(v, http.MethodPatch, frame.Path("management", "processors", string(p.Name)), body, "", nil, "processorMerchantId"); {
	case err != nil:
		return err
	case sent:
		return v.Redirect(pathProcessors, "saved")
	}
	return out.show(v)
}
