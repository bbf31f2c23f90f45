package processorpages

import (
	"net/http"
	"slices"

	"payledger/domain/account"
	"payledger/httpapi/dashboard/frame"
)

func moveRule(v *frame.Visit, before routing, form frame.Form) error {
	after := before.clone()
	from, there := after.place(form.Text("place"))
	to := from + 1
	if form.Text("way") == "up" {
		to = from - 1
	}
	if there && to >= 0 && to < len(after.Rules) {
		after.Rules[from], after.Rules[to] = after.Rules[to], after.Rules[from]
	}
	return finish(v, form, before, after)
}

func removeRule(v *frame.Visit, before routing, form frame.Form) error {
	after := before.clone()
	if i, there := after.place(form.Text("place")); there {
		after.Rules = slices.Delete(after.Rules, i, i+1)
	}
	return finish(v, form, before, after)
}

// finish makes a change that has no form of its own.
func finish(v *frame.Visit, form frame.Form, before, after routing) error {
	if form.Review {
		return v.Redirect(pathProcessors, "")
	}
	if !before.outdated(&form, "This page has them as they are now. Look at them, then repeat your change.") {
		done, err := change(v, before, after)
		if err == nil {
			return v.Redirect(pathProcessors, done)
		}
		if err := form.Refused(err); err != nil {
			return err
		}
	}
	return overviewView{Form: frame.Form{Values: map[string][]string{}, Refusal: form.Refusal}}.show(v, http.StatusConflict)
}

type removal struct {
	Rule       account.Rule
	Conditions []condition
	Place      int // from 1
	Mark       string
}

func askRemove(v *frame.Visit, all routing) error {
	i, there := all.place(v.Value("place"))
	if !there {
		return noRule()
	}
	out := removal{Rule: all.Rules[i], Conditions: conditionsOf(all.Rules[i].When), Place: i + 1, Mark: all.mark()}
	return v.Show(frame.Page{Name: "remove-rule", Title: "Remove a routing rule", Nav: pathProcessors, Data: out})
}
