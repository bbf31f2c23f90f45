package processorpages

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/processor"
	"payledger/httpapi/dashboard/frame"
)

type ruleForm struct {
	frame.Form
	before   routing
	place    int // of the rule in before; its length: a new rule
	Title    string
	Action   string // the form's address
	Default  bool   // the form is about the default list
	Networks []string
	Names    []processor.Name
	Choices  []choice // of processors, in order
	Past     *past    // the preview of the change; nil: it was not asked for
}

type choice struct {
	Name   string // of the field
	Label  string
	Chosen string
}

var ordinals = []string{"First", "Second", "Third", "Fourth", "Fifth", "Sixth"}

func (f *ruleForm) choices() {
	f.Names, f.Networks = processor.Names, domain.Enum("disputeNetwork")
	for i := range processor.Names {
		name := "processor" + strconv.Itoa(i+1)
		f.Choices = append(f.Choices, choice{name, ordinals[i] + " processor", f.Values.Get(name)})
	}
}

func (f ruleForm) show(v *frame.Visit, status int) error {
	f.choices()
	return v.Show(frame.Page{Name: "rule", Title: f.Title, Nav: pathProcessors, Status: status, Data: f})
}

func (f *ruleForm) list() []processor.Name {
	chosen := []processor.Name{}
	for i := range processor.Names {
		name := processor.Name(f.Text("processor" + strconv.Itoa(i+1)))
		if name == "" {
			continue
		}
		if slices.Contains(chosen, name) {
			f.Fault("processors", fmt.Sprintf("%s is there twice. Choose each processor once.", name))
		}
		chosen = append(chosen, name)
	}
	return chosen
}

func setList(values url.Values, names []processor.Name) {
	for i, name := range names {
		values.Set("processor"+strconv.Itoa(i+1), string(name))
	}
}

func values(r account.Rule) url.Values {
	out := url.Values{"name": {r.Name}, "metadata": {metadataText(r.When.Metadata)}}
	out.Set("currencyCode", joined(r.When.Currencies, ", "))
	out.Set("countryCode", joined(r.When.Countries, ", "))
	for _, n := range r.When.Networks {
		out.Add("network", string(n))
	}
	for field, limit := range map[string]*domain.Amount{"minAmount": r.When.MinAmount, "maxAmount": r.When.MaxAmount} {
		if limit != nil {
			out.Set(field, limitText(*limit, r.When.Currencies))
		}
	}
	setList(out, r.Processors)
	return out
}

func (f *ruleForm) rule() account.Rule {
	r := account.Rule{Name: f.Text("name"), Processors: f.list()}
	if r.Name == "" {
		f.Fault("name", "Give the rule a name.")
	}
	if len(r.Processors) == 0 {
		f.Fault("processors", "Choose one processor or more.")
	}
	r.When.Currencies, r.When.Countries = codes[domain.Currency](f.Text("currencyCode")), codes[string](f.Text("countryCode"))
	for _, n := range f.Values["network"] {
		r.When.Networks = append(r.When.Networks, domain.Network(n))
	}
	for field, limit := range map[string]**domain.Amount{"minAmount": &r.When.MinAmount, "maxAmount": &r.When.MaxAmount} {
		text := f.Text(field)
		if text == "" {
			continue
		}
		amount, err := parseLimit(text, r.When.Currencies)
		if err != nil {
			f.Fault(field, err.Error())
			continue
		}
		*limit = &amount
	}
	var err error
	if r.When.Metadata, err = parseMetadata(f.Values.Get("metadata")); err != nil {
		f.Fault("metadata", err.Error())
	}
	return r
}

func openRule(v *frame.Visit) (out ruleForm, err error) {
	if out.before, err = readRouting(v); err != nil {
		return out, err
	}
	out.place = len(out.before.Rules)
	text := v.Request.PathValue("place")
	if text == "" {
		out.Title, out.Action = "Add a routing rule", pathRules+"/new"
		return out, nil
	}
	out.Title, out.Action = "Change a routing rule", pathRules+"/"+text
	if place, there := out.before.place(text); there {
		out.place = place
	} else if v.Request.Method != http.MethodPost { // else the rule was removed meanwhile: the mark refuses the form
		return out, noRule()
	}
	return out, nil
}

func noRule() error {
	return frame.Missing("There is no routing rule at this place.", "Processors and routing lists all rules.")
}

func askRule(v *frame.Visit, out ruleForm) error {
	out.Values = url.Values{}
	if out.place < len(out.before.Rules) {
		out.Values = values(out.before.Rules[out.place])
	}
	out.Values.Set("mark", out.before.mark())
	return out.show(v, http.StatusOK)
}

func saveRule(v *frame.Visit, out ruleForm, sent frame.Form) error {
	out.Form = sent
	after := out.before.clone()
	if rule := out.rule(); out.place < len(after.Rules) {
		after.Rules[out.place] = rule
	} else {
		after.Rules = append(after.Rules, rule)
	}
	return out.save(v, after, fmt.Sprintf("rules[%d]", out.place))
}

// save saves changed rules, or shows the form with the reasons. Faults of the API below path belong
// to the form's fields. Without a refusal for it, a form keeps the mark of the rules that its first
// page showed.
func (f ruleForm) save(v *frame.Visit, after routing, path string) error {
	if f.before.outdated(&f.Form, f.replaces()) {
		return f.show(v, http.StatusConflict)
	}
	if f.Text("do") == "preview" && f.Sound() && !f.Review {
		return f.preview(v, after, path)
	}
	status := f.Status()
	if f.Sound() && !f.Review {
		done, err := change(v, f.before, after)
		if err == nil {
			return v.Redirect(pathProcessors, done)
		}
		if err := f.refused(err, path); err != nil {
			return err
		}
		status = f.Status()
	}
	return f.show(v, status)
}

// replaces returns advice that names the rule or the list that the next sending replaces.
func (f ruleForm) replaces() string {
	what := "you add your rule after the " + frame.Number(int64(len(f.before.Rules))) + " that there are now"
	switch names := "none"; {
	case f.Default:
		if len(f.before.Default) > 0 {
			names = joined(f.before.Default, ", ")
		}
		what = "you replace the default list of now: " + names
	case f.place < len(f.before.Rules):
		what = fmt.Sprintf("you replace the rule that has this place now: %d, “%s”", f.place+1, f.before.Rules[f.place].Name)
	}
	return "Look at them in another tab. If you save your input here, " + what + "."
}

// preview shows the form with what the changed rules would do with the newest payments. Nothing is
// saved.
func (f ruleForm) preview(v *frame.Visit, after routing, path string) (err error) {
	f.Past, err = pastOf(v, after, func(p preview) bool {
		return f.Default && p.DecidedBy == "DEFAULT" || !f.Default && p.DecidedBy == "RULE" && p.Rule == f.Text("name")
	})
	if err != nil {
		if err := f.refused(err, "routing."+path); err != nil {
			return err
		}
	}
	return f.show(v, f.Status())
}

var ruleFields = []string{"name", "currencyCode", "countryCode", "network", "minAmount", "maxAmount", "metadata", "processors"}

// refused takes the API's reasons: those below path, which is that of the form's rule, to its
// fields.
func (f *ruleForm) refused(err error, path string) error {
	failure, is := errors.AsType[*frame.Failure](err)
	if !is {
		return err
	}
	own := *failure
	own.Fields = slices.Clone(failure.Fields)
	for i, fault := range own.Fields {
		rest, below := strings.CutPrefix(fault.Path, "$."+path)
		if !below {
			continue
		}
		field := strings.TrimPrefix(strings.TrimPrefix(rest, "."), "when.")
		if end := strings.IndexAny(field, ".["); end >= 0 {
			field = field[:end]
		}
		own.Fields[i].Path = "$." + cmp.Or(field, "processors") // the default list has no fields
	}
	return f.Refused(&own, ruleFields...)
}

func openDefault(v *frame.Visit) (ruleForm, error) {
	all, err := readRouting(v)
	return ruleForm{before: all, Title: "Change the default list", Action: pathDefault, Default: true}, err
}

func askDefault(v *frame.Visit, out ruleForm) error {
	out.Values = url.Values{"mark": {out.before.mark()}}
	setList(out.Values, out.before.Default)
	return out.show(v, http.StatusOK)
}

func saveDefault(v *frame.Visit, out ruleForm, sent frame.Form) error {
	out.Form = sent
	after := out.before.clone()
	after.Default = out.list()
	return out.save(v, after, "default")
}
