package reconcilepages

import (
	"net/http"
	"net/url"
	"time"

	"payledger/domain/processor"
	"payledger/eventstore/commands/reconcile"
	"payledger/httpapi/dashboard/frame"
)

type run struct {
	ID        string
	Processor processor.Name
	From, To  *time.Time
	State     string
	StartedAt time.Time
	EndedAt   *time.Time
	Actor     string
	Progress  *struct {
		Books  bool
		Total  int64
		Counts counts
	}
	Summary     *counts
	Failure     string
	Differences []difference
	LeftOut     int64
}

type counts struct{ Payments, Operations, Records, Open, Fresh, Disputes, Differences int64 }

// Running reports whether the comparison is under way.
func (r run) Running() bool { return r.State == "RUNNING" }

// Tone returns the class of the result's badge.
func (r run) Tone() string {
	switch {
	case r.State == "FAILED":
		return "bad"
	case r.Summary == nil:
		return ""
	case r.Summary.Differences > 0:
		return "bad"
	default:
		return "good"
	}
}

// Result returns the result in words.
func (r run) Result() string {
	switch {
	case r.State == "FAILED":
		return "Incomplete"
	case r.Summary == nil:
		return "Running"
	case r.Summary.Differences == 0:
		return "The books agree"
	case r.Summary.Differences == 1:
		return "1 difference"
	default:
		return frame.Number(r.Summary.Differences) + " differences"
	}
}

// Period returns the compared time in words.
func (r run) Period() string {
	switch {
	case r.From != nil && r.To != nil:
		return frame.When(*r.From) + " to " + frame.When(*r.To)
	case r.From != nil:
		return "since " + frame.When(*r.From)
	case r.To != nil:
		return "until " + frame.When(*r.To)
	default:
		return "everything"
	}
}

// Percent returns the part of the first pass that is done, for people; "" in the second pass, whose
// length is not known.
func (r run) Percent() string {
	p := r.Progress
	if p == nil || p.Books || p.Total == 0 {
		return ""
	}
	return frame.Number(min(99, 100*p.Counts.Payments/p.Total)) + " %"
}

type difference struct{ reconcile.Difference }

var kinds = map[reconcile.Kind]string{
	reconcile.MissingHere: "Missing in the ledger", reconcile.MissingThere: "Missing in the processor’s books", reconcile.OtherAmount: "Another amount",
	reconcile.OtherState: "Another state", reconcile.OtherMerchant: "Another merchant account", reconcile.OtherTransaction: "Another transaction",
	reconcile.UnfitAnswer: "An answer that does not fit", reconcile.Unreadable: "Operations that cannot be read",
}

// Text returns the kind of the difference in words.
func (d difference) Text() string {
	if d.Kind == reconcile.Unreadable && d.Operation == processor.Dispute {
		return "A dispute that cannot be read"
	}
	if text := kinds[d.Kind]; text != "" {
		return text
	}
	return frame.Plain(d.Kind)
}

// At returns a side of the difference in words.
func (difference) At(s *reconcile.Side) string {
	if s == nil {
		return "–"
	}
	text := frame.Money(s.Amount, s.Currency) + ", " + frame.Plain(s.State)
	if !s.At.IsZero() {
		text += ", " + frame.When(s.At)
	}
	return text
}

type listView struct {
	frame.Form
	Runs       []run
	Processors []processor.Name
	Change     bool
}

func list(v *frame.Visit) error {
	return showList(v, frame.Form{Values: url.Values{}}, http.StatusOK)
}

func showList(v *frame.Visit, form frame.Form, status int) error {
	var found frame.List[run]
	if err := v.Get(apiRuns, nil, &found); err != nil {
		return err
	}
	out := listView{Form: form, Runs: found.Data, Processors: processor.Names, Change: !v.Auditor()}
	return v.Show(frame.Page{Name: "reconciliation", Title: "Reconciliation", Nav: pathRuns, Status: status, Live: form.Sound(), Data: out})
}

func start(v *frame.Visit, form frame.Form) error {
	body := map[string]any{"processor": form.Text("processor")}
	form.Days(func(field, at string) { body[field] = at })
	var made run
	sent, err := form.Send(v, http.MethodPost, apiRuns, body, "", &made, "processor", "from", "to")
	if err != nil {
		return err
	}
	if sent {
		return v.Redirect(pathRuns+"/"+made.ID, "")
	}
	return showList(v, form, form.Status())
}

func show(v *frame.Visit) error {
	var found run
	if err := v.Get(apiRuns+"/"+v.Request.PathValue("id"), nil, &found); err != nil {
		if frame.StatusOf(err) == http.StatusNotFound {
			return frame.Missing("This node has no such comparison since its start.", "Start it again: a comparison changes nothing.")
		}
		return err
	}
	return v.Show(frame.Page{Name: "comparison", Title: "Comparison with " + string(found.Processor), Nav: pathRuns, Live: true, Data: found})
}
