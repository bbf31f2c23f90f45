package disputepages

import (
	"slices"
	"strconv"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/httpapi/dashboard/frame"
)

// Dispute is a dispute as the API lists it.
type Dispute struct {
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
	Choices    frame.Choices
	Disputes   []row
	Urgent     []row // open disputes with a deadline, the nearest first
	MoreOpen   bool  // there are more open disputes than Urgent was chosen from
	Older      string
	Types      []processor.DisputeType
	Statuses   []processor.DisputeStatus
	Processors []processor.Name
}

type row struct {
	Dispute
	Deadline deadline
}

// fields are the filters: by their name in the address of the page, the parameter of the API.
var fields = map[string]string{
	"status": "status", "type": "type", "processor": "processor", "reason": "reasonCode", "payment": "paymentId", "order": "orderId",
	"number": "processorDisputeId",
}

// labels are the filters, for people.
var labels = []frame.Field{
	{Name: "status", Label: "Status", Text: frame.Words}, {Name: "type", Label: "Stage", Text: frame.Words}, {Name: "processor", Label: "Processor"},
	{Name: "payment", Label: "Payment"}, {Name: "order", Label: "Order"}, {Name: "number", Label: "Number"}, {Name: "reason", Label: "Reason code"},
	{Name: "from", Label: "Received from"}, {Name: "to", Label: "Received to"},
}

var views = []frame.View{
	{Name: "Open", Query: "?status=OPEN"}, {Name: "Challenged", Query: "?status=CHALLENGED"}, {Name: "Decided", Query: "?status=WON&status=LOST"},
}

func list(v *frame.Visit) error {
	form := frame.Form{Values: v.Request.URL.Query()}
	q := form.Filters(fields)
	form.Days(q.Set)
	out := listView{Filtered: len(q) > 0, Types: processor.DisputeTypes, Statuses: processor.DisputeStatuses, Processors: processor.Names}
	var found frame.List[Dispute]
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
	out.Filters, out.Choices = form, form.Choices(pathDisputes, labels, views...)
	return v.Show(frame.Page{Name: "disputes", Title: "Disputes", Nav: pathDisputes, Status: form.Status(), Live: first, Data: out})
}

// mostUrgent is the greatest number of disputes that are shown by their deadlines.
const mostUrgent = 20

// Open returns at most a number of open disputes: those whose deadlines end first, and after them
// the newest others: their deadline is over, or they have none. more reports whether there are
// others.
func Open(v *frame.Visit, most int) (open []Dispute, more bool, err error) {
	open, more, err = frame.Some[Dispute](v, apiDisputes, frame.Query("sort", "deadline", "limit", strconv.Itoa(most)), 1)
	if err != nil || more {
		return open, more, err
	}
	newest, more, err := frame.Some[Dispute](v, apiDisputes, frame.Query("status", string(processor.DisputeOpen), "limit", "100"), 1)
	for _, d := range newest {
		switch {
		case d.inTime(v.Now()): // it is in open
		case len(open) < most:
			open = append(open, d)
		default:
			more = true
		}
	}
	return open, more, err
}

// inTime reports whether the dispute has a deadline that is not over.
func (d *Dispute) inTime(now time.Time) bool {
	return d.ChallengeRequiredBy != nil && !d.ChallengeRequiredBy.Before(now)
}

func (l *listView) urgent(v *frame.Visit) error {
	open, more, err := Open(v, mostUrgent)
	l.MoreOpen = more
	l.Urgent = rows(slices.DeleteFunc(open, func(d Dispute) bool { return !d.inTime(v.Now()) }), v.Now())
	return err
}

func rows(all []Dispute, now time.Time) []row {
	out := make([]row, len(all))
	for i, d := range all {
		out[i] = row{d, deadlineOf(d, now)}
	}
	return out
}
