package workflowpages

import (
	"net/http"
	"net/url"
	"slices"
	"time"

	"payledger/domain"
	"payledger/httpapi/dashboard/frame"
)

type simulation struct {
	Events    int64
	Triggered int64
	Runs      int64
	Errors    int64
	More      bool
	Distinct  int64 `json:"distinctPayments"` // payments with runs
	Payments  []struct {
		PaymentID    string `json:"paymentId"`
		Sequence     uint64
		Date         time.Time
		CurrencyCode domain.Currency
		Actions      []struct {
			Type    string
			Amount  domain.Amount
			Refusal string
		}
	}
	Sums []struct {
		Action       int
		Type         string
		CurrencyCode domain.Currency
		Count        int64
		Refused      int64
		Payments     int64
		Amount       domain.Amount
	}
}

const shown = 100

// Cut reports whether the page shows fewer runs than there are.
func (s simulation) Cut() bool { return s.More || len(s.Payments) > shown }

func (s *simulation) cut() {
	s.More = s.Cut()
	slices.Reverse(s.Payments)
	s.Payments = s.Payments[:min(len(s.Payments), shown)]
}

type period struct{ From, To string }

// usual is the time that a simulation covers if nothing else is chosen.
func usual(now time.Time) period {
	return period{now.UTC().AddDate(0, 0, -30).Format(time.DateOnly), now.UTC().Format(time.DateOnly)}
}

type resultView struct {
	frame.Form
	Stored     *flow      // nil: a new workflow
	Draft      bool       // the definition is not saved; the page has the buttons that save it
	Action     string     // the editor's address
	Definition definition // that was simulated
	Simulation *simulation
	Trouble    string // why there is no simulation
}

func (r resultView) show(v *frame.Visit, status int) error {
	title := "Try " + r.Definition.Name
	if r.Draft {
		title = "Before you save: " + r.Definition.Name
	}
	return v.Show(frame.Page{Name: "simulation", Title: title, Nav: pathWorkflows, Status: status, Data: r})
}

func (r *resultView) run(v *frame.Visit, path string, body any) error {
	var result simulation
	err := v.Send(http.MethodPost, path, body, "", &result)
	switch status := frame.StatusOf(err); {
	case err == nil:
		result.cut()
		r.Simulation = &result
	case status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable:
		var why frame.Form
		if err := why.Refused(err); err != nil {
			return err
		}
		r.Trouble = why.Refusal.Text + " " + why.Refusal.Advice
	default:
		return err
	}
	return nil
}

// try serves the simulation of a stored workflow: the page asks for a period, and shows the result
// for the one in its address.
func try(v *frame.Visit, stored flow) error {
	out := resultView{Form: frame.Form{Values: v.Request.URL.Query()}, Stored: &stored, Definition: stored.definition}
	if !out.Values.Has("from") && !out.Values.Has("to") {
		p := usual(v.Now())
		out.Values = url.Values{"from": {p.From}, "to": {p.To}}
		return out.show(v, http.StatusOK)
	}
	body := map[string]any{}
	if out.Days(func(field, at string) { body[field] = at }); out.Sound() {
		if err := out.run(v, frame.Path("management", "workflows", v.Request.PathValue("id"), "simulate"), body); err != nil {
			if err := out.Refused(err, "from", "to"); err != nil {
				return err
			}
		}
	}
	return out.show(v, out.Status())
}
