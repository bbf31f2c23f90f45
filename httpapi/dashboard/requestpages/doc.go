// Package requestpages has the dashboard's page of the API's requests (D20): the newest requests
// that the nodes answered, with status, path, key, and their bodies as the log may show them.
//
// The package must not know: which texts of a body are secret or personal. The API leaves them out.
package requestpages

import (
	"embed"
	"net/http"
	"time"

	"payledger/httpapi/dashboard/frame"
)

// Files has the templates.
//
//go:embed templates
var Files embed.FS

const (
	pathRequests = "/dashboard/requests"
	apiRequests  = "/management/request-log"
)

// Routes are the pages.
var Routes = map[string]frame.Screen{"GET " + pathRequests: list}

type exchange struct {
	Time         time.Time
	Method, Path string
	Status       int
	TookMs       float64
	ErrorID      string
	RequestID    string
	Caller       string
	KeyName      string
	Body, Answer string
}

// Tone returns the class of the status's badge.
func (e exchange) Tone() string {
	switch {
	case e.Status >= http.StatusInternalServerError:
		return "bad"
	case e.Status >= http.StatusBadRequest:
		return "warn"
	default:
		return "good"
	}
}

// labels are the filters, for people.
var labels = []frame.Field{{Name: "status", Label: "Status"}, {Name: "path", Label: "Path"}, {Name: "key", Label: "API key"}}

type listView struct {
	frame.Form
	found
	Links    frame.Choices
	Statuses []string
	Filtered bool
}

type found struct {
	frame.List[exchange]
	Nodes, SilentNodes int
}

func list(v *frame.Visit) error {
	form := frame.Form{Values: v.Request.URL.Query()}
	q := form.Filters(map[string]string{"status": "status", "path": "path", "key": "keyName"})
	out := listView{Filtered: len(q) > 0, Statuses: []string{"2xx", "4xx", "5xx"}}
	if err := v.Filtered(&form, apiRequests, q, &out.found, "status", "path"); err != nil {
		return err
	}
	out.Form = form
	out.Links = form.Choices(pathRequests, labels, frame.View{Name: "Refused", Query: "?status=4xx"}, frame.View{Name: "Failed", Query: "?status=5xx"})
	return v.Show(frame.Page{Name: "requests", Title: "API requests", Nav: pathRequests, Status: form.Status(), Live: form.Sound(), Data: out})
}
