package paymentpages

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/httpapi/dashboard/frame"
)

type summary struct {
	ID                string    `json:"id"`
	Date              time.Time `json:"date"`
	DateUpdated       time.Time `json:"dateUpdated"`
	Status            string    `json:"status"`
	OrderID           string    `json:"orderId"`
	CustomerID        string    `json:"customerId"`
	CurrencyCode      domain.Currency
	Amount            domain.Amount
	PaymentMethodType string `json:"paymentMethodType"`
	StatusReason      *struct {
		Type, Code string
	}
	PaymentMethodData *struct {
		Network, Last4Digits string
	}
	Processor *processed `json:"processor"`
}

type processed struct {
	Name                processor.Name
	ProcessorMerchantID string `json:"processorMerchantId"`
	AmountCaptured      domain.Amount
	AmountRefunded      domain.Amount
}

// Reason returns the code of a decline, or the type of another failure; "" for none.
func (s summary) Reason() string {
	if s.StatusReason == nil {
		return ""
	}
	return cmp.Or(s.StatusReason.Code, s.StatusReason.Type)
}

// Card returns network and last digits of the card; "" for another payment method.
func (s summary) Card() string {
	if s.PaymentMethodData == nil {
		return ""
	}
	return s.PaymentMethodData.Network + " •••• " + s.PaymentMethodData.Last4Digits
}

// Captured is the captured amount, in minor units.
func (s summary) Captured() domain.Amount {
	if s.Processor == nil {
		return 0
	}
	return s.Processor.AmountCaptured
}

// AmountRefunded is the refunded amount, in minor units.
func (s summary) AmountRefunded() domain.Amount {
	if s.Processor == nil {
		return 0
	}
	return s.Processor.AmountRefunded
}

// Refunded returns the refunded part of the captured money, for people; "" for nothing.
func (s summary) Refunded() string {
	switch p := s.Processor; {
	case p == nil || p.AmountRefunded == 0:
		return ""
	case p.AmountRefunded == p.AmountCaptured:
		return "Refunded"
	default:
		return frame.Money(p.AmountRefunded, s.CurrencyCode) + " refunded"
	}
}

type page struct {
	frame.List[summary]
	PrevCursor string
}

// statuses are all statuses of a payment, in the order of its life (§3.1).
var statuses = []payment.Status{
	payment.StatusPending, payment.StatusAuthorized, payment.StatusSettling, payment.StatusPartiallySettled, payment.StatusSettled,
	payment.StatusDeclined, payment.StatusFailed, payment.StatusCancelled,
}

// results are the results of an authorization at a processor, as GET /management/statistics counts
// them.
var results = []string{"APPROVED", "DECLINED", "FAILED"}

// sorts are the orders of the list, by the time of creation.
const oldest = "oldest"

var sorts = []string{"newest", oldest}

type listView struct {
	Filters    frame.Form
	Payments   []summary
	Newer      string
	Older      string
	CSV        string // the address of the file of payments
	Movements  string // that of the file of movements; "" if a filter is none of movements
	Bulk       string // the address of the form that refunds the filtered payments; "" for none
	Filtered   bool
	Statuses   []payment.Status
	Processors []processor.Name
	Results    []string // of tries
	Choices    frame.Choices
	Totals     *frame.Totals // nil: of a refresh, which leaves them as they are
	Oldest     bool          // the oldest payments come first
	Turned     string        // the address of the same list in the other order
}

func views(now time.Time) []frame.View {
	today, yesterday := now.UTC().Format(time.DateOnly), now.UTC().AddDate(0, 0, -1).Format(time.DateOnly)
	this, last := frame.Month(now, 0), frame.Month(now, -1)
	return []frame.View{
		{Name: "Today", Query: "?from=" + today + "&to=" + today}, {Name: "Yesterday", Query: "?from=" + yesterday + "&to=" + yesterday},
		{Name: "This month", Query: "?from=" + this.First}, {Name: "Last month", Query: "?from=" + last.First + "&to=" + last.Last},
		{Name: "To capture", Query: "?status=AUTHORIZED&status=PARTIALLY_SETTLED"}, {Name: "Waiting", Query: "?status=PENDING&status=SETTLING"},
		{Name: "Declined or failed", Query: "?status=DECLINED&status=FAILED"},
	}
}

// labels are the filters, for people.
var labels = []frame.Field{
	{Name: "order", Label: "Order"}, {Name: "customer", Label: "Customer"}, {Name: "email", Label: "E-mail"}, {Name: "last4", Label: "Last four digits"},
	{Name: "status", Label: "Status", Text: frame.Words}, {Name: "tried", Label: "Tried at"}, {Name: "result", Label: "Result", Text: frame.Words},
	{Name: "processor", Label: "Newest processor"}, {Name: "from", Label: "From"}, {Name: "to", Label: "To"}, {Name: "currency", Label: "Currency"},
	{Name: "min", Label: "Amount from"}, {Name: "max", Label: "Amount to"},
}

// filterFields are the filters: by their name in the address of the page, the parameter of the API.
var filterFields = map[string]string{
	"status": "status", "processor": "processor", "tried": "tried_processor", "result": "tried_result", "currency": "currency_code", "order": "order_id", "customer": "customer_id",
	"email": "customer_email_address", "last4": "last_4_digits", "sort": "sort",
}

// query returns the parameters of the API for the filters in the page's address. It notes invalid
// filters in the form.
func query(f *frame.Form) url.Values {
	q := f.Filters(filterFields)
	for _, name := range []string{"customer_id", "customer_email_address"} {
		if value := q.Get(name); strings.Contains(value, ",") {
			q.Add(name, value) // a repeated parameter is taken as it is (D22)
		}
	}
	f.Days(func(field, at string) { q.Set(field+"_date", at) })
	known(f, "status", statuses)
	known(f, "processor", processor.Names)
	known(f, "tried", processor.Names)
	known(f, "result", results)
	known(f, "sort", sorts)
	amounts(f, q)
	return q
}

// names are the names of fields, for people.
var names = map[string]string{"status": "status", "processor": "processor", "tried": "processor", "result": "result", "sort": "order"}

func known[T ~string](f *frame.Form, field string, all []T) {
	for _, value := range f.Values[field] {
		if value != "" && !slices.Contains(all, T(value)) {
			f.Fault(field, "There is no "+names[field]+" "+value+". Choose from the list.")
		}
	}
}

// amounts adds the limits of the amount. They need one currency, whose units they are in.
func amounts(f *frame.Form, q url.Values) {
	for field, parameter := range map[string]string{"min": "min_amount", "max": "max_amount"} {
		text := f.Text(field)
		if text == "" {
			continue
		}
		currency := domain.Currency(strings.ToUpper(f.Text("currency")))
		if !currency.Known() || len(q["currency_code"]) > 1 {
			f.Fault("currency", "Choose the currency of the amounts, one only.")
			continue
		}
		amount, err := frame.ParseAmount(text, currency)
		if err != nil {
			f.Fault(field, err.Error())
			continue
		}
		q.Set(parameter, amountParameter(amount))
	}
}

// refundable reports whether any payment of the filters can be refunded.
func (l *listView) refundable(q url.Values) bool {
	q = frame.Without(q)
	if !narrow(q) || l.Totals == nil {
		return false
	}
	for _, of := range l.Totals.Currencies {
		if of.AmountCaptured.Cmp(of.AmountRefunded) > 0 {
			return true
		}
	}
	return l.Totals.More
}

// total reads the totals of the filters. A refresh of the page does not: they cost more than the
// list.
func (l *listView) total(v *frame.Visit, form *frame.Form, q url.Values) error {
	if !form.Sound() || v.Refresh() {
		return nil
	}
	l.Totals = &frame.Totals{}
	if err := v.Get(frame.APITotals, q, l.Totals); err != nil {
		return form.Refused(err)
	}
	return nil
}

func list(v *frame.Visit) error {
	form := frame.Form{Values: v.Request.URL.Query()}
	if c := form.Text("currency"); c != "" {
		form.Values.Set("currency", strings.ToUpper(c))
	}
	q := query(&form)
	view := listView{
		Statuses: statuses, Processors: processor.Names, Results: results, Filtered: len(frame.Without(q, "sort")) > 0,
		Oldest: form.Text("sort") == oldest,
	}
	if err := view.total(v, &form, frame.Without(q, "sort")); err != nil {
		return err
	}
	moved := movedOnly(q)
	var found page
	if err := v.Filtered(&form, apiPayments, q, &found); err != nil {
		return err
	}
	if form.Sound() {
		view.Payments = found.Data
		view.Newer, view.Older = frame.At(pathPayments, form.Values, found.PrevCursor), frame.At(pathPayments, form.Values, found.NextCursor)
		turned := frame.Without(form.Values, "cursor", "done", "sort")
		if !view.Oldest {
			turned.Set("sort", oldest)
		}
		view.Turned = frame.Address(pathPayments, turned)
		if view.Filtered && view.refundable(q) && !v.Auditor() && v.Value("cursor") == "" { // a bulk refund begins where the list does
			view.Bulk = frame.Address(pathBulk, frame.Without(form.Values, "cursor", "done"))
		}
		filters := frame.Without(form.Values, "cursor", "done")
		view.CSV = frame.Address(pathPayments+".csv", filters)
		if moved {
			view.Movements = frame.Address("/dashboard/movements.csv", filters)
		}
	}
	view.Filters, view.Choices = form, form.Choices(pathPayments, labels, views(v.Now())...)
	return v.Show(frame.Page{Name: "payments", Title: "Payments", Nav: pathPayments, Status: form.Status(), Live: v.Value("cursor") == "", Parts: true, Data: view})
}
