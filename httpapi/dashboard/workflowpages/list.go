package workflowpages

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"payledger/domain"
	"payledger/domain/workflow"
	"payledger/httpapi/dashboard/frame"
)

type definition struct {
	Name         string           `json:"name"`
	Trigger      workflow.Trigger `json:"trigger"`
	Condition    string           `json:"condition"`
	DelaySeconds int64            `json:"delaySeconds,omitempty"`
	Actions      []action         `json:"actions"`
}

type action struct {
	Type    string   `json:"type"`
	Amount  *int64   `json:"amount,omitempty"`
	Share   *float64 `json:"share,omitempty"`
	Final   *bool    `json:"final,omitempty"`
	Reason  string   `json:"reason,omitempty"`
	OrderID string   `json:"orderId,omitempty"`
	URL     string   `json:"url,omitempty"`
}

type flow struct {
	ID      string
	Version int64
	definition
	Enabled   bool
	CreatedAt time.Time
	UpdatedAt time.Time
}

type version struct {
	Version int64
	definition
	CreatedAt time.Time
	Actor     string
	ActorName string
}

// By names who made the version.
func (v version) By() string { return cmp.Or(v.ActorName, v.Actor) }

type run struct {
	ID       string
	Workflow struct {
		Name    string
		Version int64
	}
	Status    string
	StartedAt time.Time
	UpdatedAt time.Time
	DueAt     time.Time
	PaymentID string `json:"paymentId"`
	Trigger   struct {
		EventType string
		Sequence  uint64
		Date      time.Time
	}
	Condition struct {
		Error  string
		Values []struct{ Path, Value string }
	}
	Actions   []step
	LastError *struct{ ApplicationID, ActionID, DiagnosticsID, Message string }
}

// step is an action of a run.
type step struct {
	ID string
	action
	Status     string
	EndedAt    *time.Time
	StatusCode int
	Currency   domain.Currency `json:"-"` // of the payment; "": it is not known
}

// readCurrencies gives the actions with an amount the currency of their payments, which the
// condition has read, or else the payment has.
func readCurrencies(v *frame.Visit, runs []run) error {
	known := map[string]domain.Currency{} // by payment
	for _, r := range runs {
		if !slices.ContainsFunc(r.Actions, func(s step) bool { return s.Amount != nil }) {
			continue
		}
		for _, read := range r.Condition.Values {
			if code := domain.Currency(strings.Trim(read.Value, `"`)); read.Path == "payment.currencyCode" && code.Known() {
				known[r.PaymentID] = code
			}
		}
		if known[r.PaymentID] == "" {
			var payment struct{ CurrencyCode domain.Currency }
			if err := v.Get(frame.Path("management", "payments", r.PaymentID), nil, &payment); err != nil {
				return err
			}
			known[r.PaymentID] = payment.CurrencyCode
		}
		for i := range r.Actions {
			r.Actions[i].Currency = known[r.PaymentID]
		}
	}
	return nil
}

// listed is a workflow in the list, with its last runs, newest first.
type listed struct {
	flow
	Runs []run
}

type listView struct {
	Workflows []listed
	More      string
	First     bool
	Change    bool
}

func list(v *frame.Visit) error {
	var found frame.List[flow]
	cursor := v.Value("cursor")
	if err := v.Get(apiWorkflows, frame.Query("limit", "25", "cursor", cursor), &found); err != nil {
		return err
	}
	out := listView{Change: v.Admin(), First: cursor == "", More: frame.At(pathWorkflows, nil, found.NextCursor)}
	for _, w := range found.Data {
		var runs frame.List[run]
		if err := v.Get(frame.Path("management", "workflows", w.ID, "runs"), frame.Query("limit", "5"), &runs); err != nil {
			return err
		}
		out.Workflows = append(out.Workflows, listed{w, runs.Data})
	}
	return v.Show(frame.Page{Name: "workflows", Title: "Workflows", Nav: pathWorkflows, Live: true, Data: out})
}

type showView struct {
	Workflow flow
	Runs     []run
	Older    string // runs
	Newest   bool
	Results  []result
	Filtered bool // by a result
	Versions []version
	Earlier  string // versions
	Change   bool
	JSON     definition
}

func flowOf(v *frame.Visit) (w flow, err error) {
	err = v.Get(frame.Path("management", "workflows", v.Request.PathValue("id")), nil, &w)
	return w, err
}

func show(v *frame.Visit, w flow) error {
	id := v.Request.PathValue("id")
	out := showView{Workflow: w, Change: v.Admin(), Newest: v.Value("cursor") == ""}
	var runs struct {
		frame.List[run]
		Counts map[workflow.Status]int
	}
	status := v.Value("status")
	if err := v.Get(frame.Path("management", "workflows", id, "runs"), frame.Query("limit", "20", "cursor", v.Value("cursor"), "status", status), &runs); err != nil {
		return err
	}
	out.Results, out.Filtered = resultsOf(runs.Counts, status), status != ""
	var versions frame.List[version]
	if err := v.Get(frame.Path("management", "workflows", id, "versions"), frame.Query("limit", "10", "cursor", v.Value("versions")), &versions); err != nil {
		return err
	}
	if err := readCurrencies(v, runs.Data); err != nil {
		return err
	}
	out.Runs, out.Versions, out.JSON = runs.Data, versions.Data, out.Workflow.definition
	out.Older = frame.At(pathWorkflows+"/"+id, frame.Query("versions", v.Value("versions"), "status", status), runs.NextCursor)
	if versions.NextCursor != "" {
		out.Earlier = frame.Address(pathWorkflows+"/"+id, frame.Query("versions", versions.NextCursor, "cursor", v.Value("cursor"), "status", status))
	}
	return v.Show(frame.Page{Name: "workflow", Title: "Workflow " + out.Workflow.Name, Nav: pathWorkflows, Live: out.Newest, Data: out})
}

// result is a result of runs, with their number, as a filter of the page.
type result struct {
	Status workflow.Status // "": all
	Number string          // of the runs
	Active bool
}

// countedRuns is the greatest number of runs of a status that the API counts.
const countedRuns = 10_000

// resultsOf returns the results that some run has, all together first. status is the filter in
// force.
func resultsOf(counts map[workflow.Status]int, status string) []result {
	all, more := 0, false
	var out []result
	for _, one := range workflow.Statuses {
		n := counts[one]
		all, more = all+n, more || n >= countedRuns
		if n > 0 || string(one) == status {
			out = append(out, result{one, counted(n, n >= countedRuns), string(one) == status})
		}
	}
	return append([]result{{"", counted(all, more), status == ""}}, out...)
}

func counted(n int, more bool) string {
	text := frame.Number(int64(n))
	if more {
		text += " or more"
	}
	return text
}
