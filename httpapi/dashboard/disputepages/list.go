package disputepages

import (
	"slices"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/httpapi/dashboard/frame"
)

type dispute struct {
	ID            string
	Type          processor.DisputeType
	Status        processor.DisputeStatus
	PaymentID     string `json:"paymentId"`
	OrderID       string `json:"orderId"`
	TransactionID string `json:"transactionId"`
	PaymentMethod struct {
		PaymentMethodData struct{ Network domain.Network }
	}
	Processor           processor.Name
	MerchantID          string `json:"merchantId"`
	ProcessorDisputeID  string `json:"processorDisputeId"`
	ReasonCode          string
	Reason              string
	ProcessorReason     string
	Amount              domain.Amount
	Currency            domain.Currency
	ChallengeRequiredBy *time.Time
	ReceivedAt          time.Time
	OpenedAt            time.Time
	UpdatedAt           time.Time
}

type listView struct {
	Filters    frame.Form
	Filtered   bool
	Views      []frame.View
	Disputes   []row
	Urgent     []row // open disputes with a deadline, the nearest first
	MoreOpen   bool  // there are more open disputes than Urgent was chosen from
	Older      string
	Types      []processor.DisputeType
	Statuses   []processor.DisputeStatus
	Processors []processor.Name
}

type row struct {
	dispute
	Deadline deadline
}

// fields are the filters: by their name in the address of the page, the parameter of the API.
var fields = map[string]string{
	"status": "status", "type": "type", "processor": "processor", "reason": "reasonCode", "payment": "paymentId", "order": "orderId",
	"number": "processorDisputeId",
}

var views = []frame.View{
	{Name: "All"}, {Name: "Open", Query: "?status=OPEN"}, {Name: "Challenged", Query: "?status=CHALLENGED"}, {Name: "Decided", Query: "?status=WON&status=LOST"},
}

func list(v *frame.Visit) error {
	form := frame.Form{Values: v.Request.URL.Query()}
	q := form.Filters(fields)
	form.Days(q.Set)
	out := listView{Filtered: len(q) > 0, Types: processor.DisputeTypes, Statuses: processor.DisputeStatuses, Processors: processor.Names, Views: frame.Views(form.Values, views...)}
	var found frame.List[dispute]
	if err := v.Filtered(&form, apiDisputes, q, &found, "from", "to"); err != nil {
		return err
	}
	out.Disputes, out.Older = rows(found.Data, v.Now()), frame.At(pathDisputes, form.Values, found.NextCursor)
	first := v.Value("cursor") == ""
	if form.Sound() && !out.Filtered && first {
		if err := out.urgent(v); err != nil {
			return err
		}
	}
	out.Filters = form
	return v.Show(frame.Page{Name: "disputes", Title: "Disputes", Nav: pathDisputes, Status: form.Status(), Live: first, Data: out})
}

const (
	// mostOpen bounds the open disputes whose deadlines are compared, in pages of 100; mostUrgent
	// those that are shown.
	mostOpen   = 5
	mostUrgent = 20
)

func (l *listView) urgent(v *frame.Visit) error {
	open, more, err := frame.Some[dispute](v, apiDisputes, frame.Query("status", string(processor.DisputeOpen), "limit", "100"), mostOpen)
	if err != nil {
		return err
	}
	l.MoreOpen = more
	open = slices.DeleteFunc(open, func(d dispute) bool { return d.ChallengeRequiredBy == nil })
	slices.SortStableFunc(open, func(a, b dispute) int { return a.ChallengeRequiredBy.Compare(*b.ChallengeRequiredBy) })
	if len(open) > mostUrgent {
		open, l.MoreOpen = open[:mostUrgent], true
	}
	l.Urgent = rows(open, v.Now())
	return nil
}

func rows(all []dispute, now time.Time) []row {
	out := make([]row, len(all))
	for i, d := range all {
		out[i] = row{d, deadlineOf(d, now)}
	}
	return out
}
