package accountpages

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"payledger/httpapi/dashboard/frame"
)

type change struct {
	At        time.Time
	EventID   string
	Actor     string
	ActorName string
	Action    string
	What      struct{ Kind, ID, Name string }
	From      string
	Changed   []difference
}

// difference is a field of the changed thing, before and after; nil: the field was not there.
type difference struct {
	Path     string
	From, To json.RawMessage
}

// Field returns the field's name, for people: "rules[0].name".
func (d difference) Field() string { return strings.TrimPrefix(strings.TrimPrefix(d.Path, "$"), ".") }

// Before returns the value before the change.
func (d difference) Before() string { return value(d.From) }

// After returns the value after the change.
func (d difference) After() string { return value(d.To) }

func value(text json.RawMessage) string {
	var plain string
	switch {
	case text == nil || string(text) == "null":
		return "nothing"
	case json.Unmarshal(text, &plain) == nil:
		return "“" + plain + "”"
	}
	return string(text)
}

type auditView struct {
	frame.Form
	Changes []change
	Actions []actionGroup
	Other   string   // the type of the filter, if Actions lacks it
	People  []string // names for the filter: of the users, and of removed users on the page
	Older   string
}

// Named reports whether the filter is the name of a user, and not an actor such as api_key:….
func (a auditView) Named() bool {
	return a.Text("actor") != "" && !strings.Contains(a.Text("actor"), ":")
}

// query returns the parameters of the API for the filters that are no times. A user is found by
// name, everybody else as an actor.
func (a auditView) query() url.Values {
	who := "actor"
	if a.Named() {
		who = "user"
	}
	return frame.Query(who, a.Text("actor"), "type", a.Text("type"), "subject", a.Text("subject"))
}

func (a *auditView) addPeople(v *frame.Visit) error {
	members, err := frame.All[member](v, "/management/users")
	if err != nil {
		return err
	}
	for _, m := range members {
		a.People = append(a.People, m.Email)
	}
	for _, c := range a.Changes {
		if strings.HasPrefix(c.Actor, "user:") && c.ActorName != "" {
			a.People = append(a.People, c.ActorName)
		}
	}
	slices.Sort(a.People)
	a.People = slices.Compact(a.People)
	return nil
}

func audit(v *frame.Visit) error {
	out := auditView{Form: frame.Form{Values: v.Request.URL.Query()}, Actions: actions}
	if kind := out.Text("type"); wordsOf(kind) == "" {
		out.Other = kind
	}
	q := out.query()
	out.Days(q.Set)
	var list frame.List[change]
	if err := v.Filtered(&out.Form, "/management/audit-log", q, &list, "actor", "user", "type", "subject", "from", "to"); err != nil {
		return err
	}
	out.Changes = list.Data
	filters := frame.Query("actor", out.Text("actor"), "type", out.Text("type"), "subject", out.Text("subject"), "from", out.Text("from"), "to", out.Text("to"))
	out.Older = frame.At(pathAudit, filters, list.NextCursor)
	if fault := out.Faults["user"]; fault != "" {
		out.Fault("actor", fault)
	}
	if err := out.addPeople(v); err != nil {
		return err
	}
	return v.Show(frame.Page{Name: "audit", Title: "Audit log", Nav: pathAudit, Status: out.Status(), Live: v.Value("cursor") == "", Data: out})
}
