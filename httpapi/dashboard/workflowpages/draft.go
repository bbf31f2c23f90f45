package workflowpages

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"payledger/domain"
	"payledger/domain/workflow"
	"payledger/httpapi/dashboard/frame"
)

// actionFields are the fields of the types of actions. A field's name in the form is its path in
// the API, such as actions[0].share.
var actionFields = map[string][]string{
	workflow.Capture: {"share", "amount", "final"}, workflow.Cancel: {"reason"}, workflow.Refund: {"amount", "reason", "orderId"},
	workflow.HTTPRequest: {"url"},
}

var actionTypes = []struct{ Type, Text string }{
	{workflow.Capture, "Capture"}, {workflow.Cancel, "Cancel the payment"}, {workflow.Refund, "Refund"}, {workflow.HTTPRequest, "Send an HTTP request"},
}

func actionName(kind string) string {
	for _, t := range actionTypes {
		if t.Type == kind {
			return t.Text
		}
	}
	return kind
}

type line struct {
	Place  int // from 1
	Type   string
	Name   string
	First  bool
	Last   bool
	New    bool              // was just added
	values map[string]string // by field
}

// Field returns the name of a field in the form, and At its content.
func (l line) Field(name string) string { return fieldOf(l.Place-1, name) }
func (l line) At(name string) string    { return l.values[name] }

func fieldOf(i int, name string) string { return fmt.Sprintf("actions[%d].%s", i, name) }

func linesOf(values url.Values) (all []line) {
	for i := range workflow.MaxActions + 1 {
		kind := values.Get(fieldOf(i, "type"))
		if actionFields[kind] == nil {
			continue
		}
		l := line{Type: kind, values: map[string]string{}}
		for _, name := range actionFields[kind] {
			l.values[name] = strings.TrimSpace(values.Get(fieldOf(i, name)))
		}
		all = append(all, l)
	}
	return numbered(all)
}

func numbered(all []line) []line {
	for i := range all {
		all[i].Place, all[i].First, all[i].Last, all[i].Name = i+1, i == 0, i == len(all)-1, actionName(all[i].Type)
	}
	return all
}

func put(values url.Values, lines []line) {
	for name := range values {
		if strings.HasPrefix(name, "actions[") {
			delete(values, name)
		}
	}
	for i, l := range lines {
		values.Set(fieldOf(i, "type"), l.Type)
		for name, text := range l.values {
			values.Set(fieldOf(i, name), text)
		}
	}
}

// arranged carries out a button about actions: add, up-2, down-2, remove-2.
func arranged(lines []line, do, kind string) []line {
	verb, number, _ := strings.Cut(do, "-")
	n, _ := strconv.Atoi(number)
	switch i := n - 1; {
	case verb == "add" && actionFields[kind] != nil && len(lines) < workflow.MaxActions:
		lines = append(lines, line{Type: kind, New: true, values: map[string]string{"final": "yes"}})
	case i < 0 || i >= len(lines):
	case verb == "remove":
		lines = slices.Delete(lines, i, i+1)
	case verb == "up" && i > 0:
		lines[i-1], lines[i] = lines[i], lines[i-1]
	case verb == "down" && i+1 < len(lines):
		lines[i+1], lines[i] = lines[i], lines[i+1]
	}
	return numbered(lines)
}

func valuesOf(d definition) url.Values {
	out := url.Values{"name": {d.Name}, "condition": {d.Condition}, "trigger": {trigger{Trigger: d.Trigger}.Value()}}
	if d.Always() {
		out.Del("condition")
	}
	n, unit := inUnits(d.DelaySeconds)
	out.Set("delaySeconds", strconv.FormatInt(n, 10))
	out.Set("unit", unit)
	out.Set(unitField, string(unitOf(d.Condition)))
	for i, a := range d.Actions {
		out.Set(fieldOf(i, "type"), a.Type)
		fields := map[string]string{"reason": a.Reason, "orderId": a.OrderID, "url": a.URL, "final": "yes"}
		if a.Share != nil {
			fields["share"] = percent(*a.Share)
		}
		if a.Amount != nil {
			fields["amount"] = inUnit(*a.Amount, unitOf(d.Condition))
		}
		if a.Final != nil && !*a.Final {
			fields["final"] = "no"
		}
		for _, name := range actionFields[a.Type] {
			out.Set(fieldOf(i, name), fields[name])
		}
	}
	return out
}

// definitionOf reads the definition of a form. It notes what cannot be read; the API finds the
// rest.
func definitionOf(f *frame.Form) definition {
	d := definition{Name: f.Text("name"), Condition: cmp.Or(f.Text("condition"), always), Actions: []action{}}
	d.Trigger.EventType, d.Trigger.Status, _ = strings.Cut(f.Text("trigger"), " ")
	if d.Name == "" {
		f.Fault("name", "Give the workflow a name.")
	}
	if text := f.Text("delaySeconds"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		seconds := int64(1)
		for _, u := range units {
			if u.Name == f.Text("unit") {
				seconds = u.Seconds
			}
		}
		if err != nil || n < 0 || n > workflow.MaxDelay/seconds {
			f.Fault("delaySeconds", "Write a whole number. The longest delay is 90 days.")
		} else {
			d.DelaySeconds = n * seconds
		}
	}
	for i, l := range linesOf(f.Values) {
		d.Actions = append(d.Actions, l.action(f, i, unitOf(d.Condition)))
	}
	if len(d.Actions) == 0 {
		f.Fault("actions", "Choose an action and press “Add”.")
	}
	return d
}

// action reads an action, the i-th of the form. unit is that of the amounts.
func (l line) action(f *frame.Form, i int, unit domain.Currency) action {
	a := action{Type: l.Type, Reason: l.values["reason"], OrderID: l.values["orderId"], URL: l.values["url"]}
	if text := l.values["share"]; text != "" {
		share, good := shareOf(text)
		if !good {
			f.Fault(fieldOf(i, "share"), "Write a percentage above 0 and up to 100, with up to 4 decimals, as in 50.")
		}
		a.Share = &share
	}
	if text := l.values["amount"]; text != "" {
		amount, err := typedIn(text, unit)
		if err != nil {
			f.Fault(fieldOf(i, "amount"), err.Error())
		}
		a.Amount = &amount
	}
	if l.values["final"] == "no" {
		a.Final = new(false)
	}
	if l.Type == workflow.HTTPRequest && a.URL == "" {
		f.Fault(fieldOf(i, "url"), "Write the address that gets the request.")
	}
	return a
}

// shareOf reads a percentage and returns it as a share of 1, with six decimals at most.
func shareOf(text string) (share float64, good bool) {
	whole, decimals, _ := strings.Cut(strings.TrimSpace(strings.TrimSuffix(text, "%")), ".")
	n, err := strconv.ParseFloat(whole+"."+decimals, 64)
	if err != nil || strings.Trim(whole+decimals, "0123456789") != "" || n <= 0 || n > 100 || len(decimals) > 4 {
		return 0, false
	}
	return math.Round(n*10_000) / workflow.WholeShare, true
}

func faultFields(lines []line) []string {
	fields := []string{"name", "trigger", "condition", "delaySeconds", "actions", "from", "to"}
	for i, l := range lines {
		for _, name := range actionFields[l.Type] {
			fields = append(fields, fieldOf(i, name))
		}
	}
	return fields
}
