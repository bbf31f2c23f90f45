package webhookpages

import (
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"payledger/httpapi/dashboard/frame"
)

type deliveryRow struct {
	ID             string
	EndpointID     string
	EventType      string
	EventID        string
	PaymentID      string
	DisputeID      string
	Outcome        string
	PlannedAt      time.Time
	UpdatedAt      time.Time
	NextAttemptAt  *time.Time
	AttemptCount   int
	LastStatusCode int
	LastFailure    string
	Dropped        bool
	Status         string `json:"-"` // of the payment, in the webhook; "": it tells none, or it is not known
}

// Reason is why the last attempt failed.
func (d deliveryRow) Reason() *reason { return reasonOf(d.LastFailure) }

// Meaning returns the meaning of the outcome, for people.
func (d deliveryRow) Meaning() string { return outcomeTexts[d.Outcome] }

type listView struct {
	Filters    frame.Form
	Deliveries []deliveryRow
	Endpoints  []endpoint
	Outcomes   []string
	EventTypes []eventType
	Choices    frame.Choices
	Filtered   bool
	First      string // the address of the newest page; "" on it
	Older      string
	Replay     string // the address of the form that replays the filtered period; "" for none
	Bulk       string // the address of the form that resends the filtered deliveries; "" for none
}

var views = []frame.View{
	{Name: "Waiting", Query: "?outcome=PLANNED&outcome=FAILED"}, {Name: "Exhausted", Query: "?outcome=EXHAUSTED"},
	{Name: "Cancelled", Query: "?outcome=CANCELLED"}, {Name: "Succeeded", Query: "?outcome=SUCCEEDED"}, {Name: "Failed at least once", Query: "?everFailed=true"},
}

// Name returns an endpoint's name in the list.
func (l listView) Name(id string) string { return nameIn(l.Endpoints, id) }

func nameIn(all []endpoint, id string) string {
	if e, known := named(all, id); known {
		return e.Name()
	}
	return "deleted endpoint"
}

// filterFields are the filters of the list. The address of the page has them by the names that the
// API knows.
var filterFields = []string{"outcome", "eventType", "endpointId", "paymentId", "everFailed", "from", "to"}

// labels are the filters, for people.
func labels(endpoints []endpoint) []frame.Field {
	return []frame.Field{
		{Name: "outcome", Label: "Outcome", Text: frame.Words}, {Name: "eventType", Label: "Event type"},
		{Name: "endpointId", Label: "Endpoint", Text: func(id string) string { return nameIn(endpoints, id) }}, {Name: "paymentId", Label: "Payment"},
		{Name: "everFailed", Label: "Failed at least once"}, {Name: "from", Label: "From"}, {Name: "to", Label: "To"},
	}
}

func query(f *frame.Form) url.Values {
	q := url.Values{}
	for _, field := range filterFields {
		for _, value := range f.Values[field] {
			if value = strings.TrimSpace(value); value == "" {
				continue
			}
			if field == "from" || field == "to" {
				value = period(f, field, value)
			}
			q.Add(field, value)
		}
	}
	return q
}

// checkNames refuses parameters that are no filter of the list: they would be taken for filters and
// list everything.
func checkNames(f *frame.Form) {
	for _, name := range slices.Sorted(maps.Keys(f.Values)) {
		if !slices.Contains(filterFields, name) && name != "cursor" && name != "done" {
			f.Refusal.Stated = true
			f.Refusal.Text = "This list has no filter “" + name + "”. It has these: " + strings.Join(filterFields, ", ") + "."
			return
		}
	}
}

// period reads the time in a field, and writes it as the field shows it: to the minute, so that the
// next page has the same filter.
func period(f *frame.Form, field, text string) string {
	at, err := moment(text, field == "to")
	if err == nil {
		f.Values.Set(field, at.Format(localTime))
		at, err = moment(f.Values.Get(field), field == "to")
	}
	if err != nil {
		f.Fault(field, err.Error())
		return text
	}
	return frame.APITime(at)
}

func list(v *frame.Visit) error {
	form := frame.Form{Values: v.Request.URL.Query()}
	q := query(&form)
	checkNames(&form)
	out := listView{Outcomes: outcomes, EventTypes: eventTypes(), Filtered: len(q) > 0}
	var err error
	if out.Endpoints, err = allEndpoints(v); err != nil {
		return err
	}
	out.Choices = form.Choices(pathDeliveries, labels(out.Endpoints), views...)
	cursor := v.Value("cursor")
	if form.Sound() && cursor != "" {
		out.First = frame.Address(pathDeliveries, frame.Without(form.Values, "cursor", "done"))
	}
	var page frame.List[deliveryRow]
	if err := v.Filtered(&form, apiDeliveries, q, &page, filterFields...); err != nil {
		return err
	}
	complete(v, page.Data)
	out.Deliveries, out.Older = page.Data, frame.At(pathDeliveries, form.Values, page.NextCursor)
	if !v.Auditor() && len(out.Endpoints) > 0 {
		out.Replay = frame.Address(pathReplays+"/new", frame.Without(form.Values, "cursor", "done", "outcome", "paymentId", "everFailed"))
	}
	if out.Filtered && len(page.Data) > 0 && form.Sound() && !v.Auditor() && cursor == "" { // a bulk resend begins with the newest
		out.Bulk = frame.Address(pathBulk, frame.Without(form.Values, "cursor", "done"))
	}
	out.Filters = form
	return v.Show(frame.Page{Name: "deliveries", Title: "Webhook deliveries", Nav: pathDeliveries, Status: form.Status(), Live: cursor == "", Data: out})
}

// lookUps is the time for all details of a list that each need a call of the API: the list is read
// mostly when something is wrong, and is shown without them then.
const lookUps = time.Second

// complete adds the details of the rows that no list of the API has. A detail that cannot be read,
// or not within lookUps, is left out.
func complete(v *frame.Visit, rows []deliveryRow) {
	brief := *v
	var stop context.CancelFunc
	brief.Ctx, stop = context.WithTimeout(v.Ctx, lookUps)
	defer stop()
	paymentsOfDisputes(&brief, rows)
	statuses(&brief, rows)
}

// statuses adds the status that each webhook about a payment's status carries: without it, two of
// one payment in one second look the same.
func statuses(v *frame.Visit, rows []deliveryRow) {
	for i := range rows {
		if rows[i].EventType != paymentStatus || rows[i].Dropped || v.Ctx.Err() != nil {
			continue
		}
		var one delivery
		if v.Get(frame.Path("management", "webhook-deliveries", rows[i].ID), nil, &one) == nil {
			rows[i].Status = one.Carries()
		}
	}
}

const paymentStatus = "PAYMENT.STATUS"

// Carries returns the payment's status in the body; "" for none.
func (d delivery) Carries() string {
	var body struct{ Payment struct{ Status string } }
	if d.EventType != paymentStatus || json.Unmarshal(d.Body, &body) != nil {
		return ""
	}
	return body.Payment.Status
}

// paymentsOfDisputes adds the payments of the disputes that deliveries tell about.
func paymentsOfDisputes(v *frame.Visit, rows []deliveryRow) {
	payments := map[string]string{}
	for i := range rows {
		id := rows[i].DisputeID
		if id == "" {
			continue
		}
		payment, known := payments[id]
		if !known && v.Ctx.Err() == nil {
			var of struct {
				PaymentID string `json:"paymentId"`
			}
			if v.Get(frame.Path("management", "disputes", id), nil, &of) == nil {
				payment = of.PaymentID
			}
			payments[id] = payment
		}
		rows[i].PaymentID = payment
	}
}
