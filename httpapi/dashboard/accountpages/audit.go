package accountpages

import (
	"net/http"
	"net/url"
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
	Older   string
}

// auditFields are the filters of the page, which are those of the API.
var auditFields = []string{"actor", "type"}

// audit serves the audit log.
func audit(v *frame.Visit) error {
	out := auditView{Form: frame.Form{Values: v.Request.URL.Query()}}
	q := url.Values{"limit": {"50"}}
	for _, field := range auditFields {
		if value := out.Text(field); value != "" {
			q.Set(field, value)
		}
	}
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
		} else if err = out.Refused(err, "actor", "type", "from", "to"); err != nil {
			return err
		}
	}
	if !out.Sound() {
		status = http.StatusUnprocessableEntity
	}
	return v.Show(frame.Page{Name: "audit", Title: "Audit log", Nav: pathAudit, Status: status, Live: v.Value("cursor") == "", Data: out})
}
