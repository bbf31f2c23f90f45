package processorpages

import (
	"net/http"

	"payledger/domain/account"
	"payledger/httpapi/dashboard/frame"
)

func moveRule(v *frame.Visit) error {
	return changeRules(v, func(form frame.Form, after *routing) {
		from, there := after.place(form.Text("place"))
		to := from + 1
		if form.Text("way") == "up" {
			to = from - 1
		}
		if there && to >= 0 && to < len(after.Rules) {
			after.Rules[from], after.Rules[to] = after.Rules[to], after.Rules[from]
		}
	})
}

func removeRule(v *frame.Visit) error {
	return changeRules(v, func(form frame.Form, after *routing) {
		if i, there := after.place(form.Text("place")); there {
			after.Rules = append(after.Rules[:i], after.Rules[i+1:]...)
		}
	})
}

// changeRules makes a change that has no form of its own.
func changeRules(v *frame.Visit, edit func(form frame.Form, after *routing)) error {
	all, err := readRouting(v)
	if err != nil {
		return err
	}
	form, err := v.Input()
	if err != nil {
		return err
	}
	if form.Review {
		return v.Redirect(pathProcessors, "")
	}
	after := all.clone()
	edit(form, &after)
	return finish(v, form, all, after)
}

func finish(v *frame.Visit, form frame.Form, before, after routing) error {
	saved, _, err := change(v, &form, before, after)
	if err != nil {
		if err := form.Refused(err); err != nil {
			return err
		}
	}
	if form.Sound() {
		done := ""
		if saved {
			done = "saved"
		}
		return v.Redirect(pathProcessors, done)
	}
	return overviewView{Form: frame.Form{Values: map[string][]string{}, Refusal: form.Refusal}}.show(v, http.StatusConflict)
}

type removal struct {
	Rule       account.Rule
	Conditions []condition
	Place      int // from 1
	Mark       string
}

func askRemove(v *frame.Visit) error {
	all, err := readRouting(v)
	if err != nil {
		return err
	}
	i, there := all.place(v.Value("place"))
	if !there {
		return noRule()
	}
	out := removal{Rule: all.Rules[i], Conditions: conditionsOf(all.Rules[i].When), Place: i + 1, Mark: all.mark()}
	return v.Show(frame.Page{Name: "remove-rule", Title: "Remove a routing rule", Nav: pathProcessors, Data: out})
}
