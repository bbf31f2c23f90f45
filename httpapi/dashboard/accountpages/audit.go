package accountpages

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"payledger/httpapi/dashboard/frame"
)

// change is an entry of the audit log.
type change struct {
	At        time.Time
	Actor     string
	ActorName string
	Action    string
	What      struct{ Kind, ID, Name string }
	From      string
	RequestID string `json:"requestId"`
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

// query returns the parameters of the API for the filters that are no times. A user is found by name, everybody else as an actor.
func (a auditView) query() url.Values {
	who := "actor"
	if a.Named() {
		who = "user"
	}
	return frame.Query("limit", "50", who, a.Text("actor"), "type", a.Text("type"))
}

// addPeople adds the names of the filter.
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

// audit serves the audit log.
func audit(v *frame.Visit) error {
	out := auditView{Form: frame.Form{Values: v.Request.URL.Query()}, Actions: actions}
	if kind := out.Text("type"); kind != "" && !listed(kind) {
		out.Other = kind
	}
	q := out.query()
	for _, bound := range []struct {
		field string
		add   time.Duration
	}{{"from", 0}, {"to", 24*time.Hour - time.Microsecond}} {
		if text := out.Text(bound.field); text != "" {
			day, err := time.Parse(time.DateOnly, text)
			if err != nil {
				out.Fault(bound.field, "Write the day as in 2026-03-14.")
				continue
			}
			q.Set(bound.field, day.Add(bound.add).Format("2006-01-02T15:04:05.000000Z"))
		}
	}
	status := http.StatusOK
	if out.Sound() {
		if cursor := v.Value("cursor"); cursor != "" {
			q.Set("cursor", cursor)
		}
		var list struct {
			Data       []change
			NextCursor string
		}
		if err := v.Get("/management/audit-log", q, &list); err == nil {
			out.Changes = list.Data
			if list.NextCursor != "" {
				next := frame.Query("actor", out.Text("actor"), "type", out.Text("type"), "from", out.Text("from"), "to", out.Text("to"), "cursor", list.NextCursor)
				out.Older = frame.Address(pathAudit, next)
			}
		} else if err = out.Refused(err, "actor", "user", "type", "from", "to"); err != nil {
			return err
		}
		if fault := out.Faults["user"]; fault != "" {
			out.Fault("actor", fault)
		}
	}
	if err := out.addPeople(v); err != nil {
		return err
	}
	if !out.Sound() {
		status = http.StatusUnprocessableEntity
	}
	return v.Show(frame.Page{Name: "audit", Title: "Audit log", Nav: pathAudit, Status: status, Live: v.Value("cursor") == "", Data: out})
}
