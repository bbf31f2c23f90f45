package homepages

import (
	"cmp"
	"math"
	"math/big"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"payledger/domain"
	"payledger/httpapi/dashboard/frame"
)

const pathStatistics = "/dashboard/statistics"

// statisticsView is the page with the charts.
type statisticsView struct {
	frame.Form             // of the range
	Ranges     []rangeLink // the usual ones
	Range      string
	From, To   time.Time
	Words      string // the period in words
	Compared   string // the period before in words; "": it is not shown
	Currency   domain.Currency
	Currencies []domain.Currency
	Status     string // of the payments that count; "": all
	Statuses   []string
	Figures    []figure
	Payments   chart
	Volume     chart
	Rates      chart
	Hours      chart
	Disputes   chart
	Webhooks   webhooksView
	Requests   requestsView
	Now        statistics
	Tables     []rateTable
	Reasons    []share
	Funnel     []share
	Challenges []share
	Lag        lag
}

type rangeLink struct {
	Text, Address string
	Active        bool
}

// usual is a usual period: days until today, or a month.
type usual struct {
	name, text string
	days       int // until today; 0: a month
	month      int // 0: this one, -1: the last one
}

var ranges = []usual{
	{"today", "Today", 1, 0}, {"7", "7 days", 7, 0}, {"30", "30 days", 30, 0}, {"90", "90 days", 90, 0},
	{"month", "This month", 0, 0}, {"last-month", "Last month", 0, -1},
}

// span returns the days of the period, none after today.
func (u usual) span(today time.Time) span {
	if u.days > 0 {
		return span{today.AddDate(0, 0, 1-u.days), today}
	}
	first := time.Date(today.Year(), today.Month()+time.Month(u.month), 1, 0, 0, 0, 0, time.UTC)
	last := first.AddDate(0, 1, -1)
	if last.After(today) {
		last = today
	}
	return span{first, last}
}

const (
	customRange  = "custom"
	usualRange   = "30"
	hourlyDays   = 2 // periods up to this length are shown by hour
	maxRangeDays = 366
)

// figure is a number on top of the page, with its change.
type figure struct {
	Name, Text, Change, Tone string
	Sum                      bool // of money: it needs room
}

type rateTable struct {
	ID, Title, Name string
	Rows            []rateRow
}

type rateRow struct {
	Name string
	authorizations
	Percent string
	Bar     float64 // of 100
	Before  string
}

// share is a row of a table with bars.
type share struct {
	Name, Note string
	N          int64
	Bar        float64 // of 100
	Percent    string
}

func showStatistics(v *frame.Visit) error {
	out := statisticsView{Statuses: statuses, Form: frame.Form{Values: v.Request.URL.Query(), Faults: map[string]string{}}}
	out.period(v)
	if status := v.Value("status"); slices.Contains(statuses, status) {
		out.Status = status
	}
	days := int(out.To.Sub(out.From)/(24*time.Hour)) + 1
	hourly := days <= hourlyDays
	now, err := readStatistics(v, out.From, out.To, hourly, out.Status)
	if err != nil {
		return err
	}
	if out.Lag, err = lagOf(v); err != nil {
		return err
	}
	var before *statistics
	if v.Value("compare") != "no" {
		first := out.From.AddDate(0, 0, -days)
		earlier, err := readStatistics(v, first, out.From.AddDate(0, 0, -1), hourly, out.Status)
		if err != nil {
			return err
		}
		before, out.Compared = &earlier, "the "+daysInWords(days)+" before"
	}
	out.Now = now
	out.currency(v.Value("currency"), before)
	out.links(v)
	out.Requests = requestsOf(&out, before, hourly)
	if out.Webhooks, err = webhooksOf(v, &out, before, hourly); err != nil {
		return err
	}
	out.fill(v, before, hourly)
	status := http.StatusOK
	if len(out.Faults) > 0 {
		status = http.StatusUnprocessableEntity
	}
	return v.Show(frame.Page{Name: "statistics", Title: "Statistics", Nav: pathStatistics, Status: status, Charts: true, Data: out})
}

func daysInWords(n int) string {
	if n == 1 {
		return "day"
	}
	return strconv.Itoa(n) + " days"
}

// period reads the range of the query: a usual one, or the days from and to.
func (o *statisticsView) period(v *frame.Visit) {
	today := v.Now().UTC().Truncate(24 * time.Hour)
	o.Range, o.To = cmp.Or(v.Value("range"), usualRange), today
	if o.Range == customRange {
		days, fault := customDays(v.Value("from"), v.Value("to"), today)
		if o.From, o.To = days.first, days.last; fault == "" {
			o.Words = o.From.Format(frame.ShownDay) + " to " + o.To.Format(frame.ShownDay)
			return
		}
		o.Faults["from"] = fault
		o.Range, o.To = usualRange, today
	}
	i := slices.IndexFunc(ranges, func(r usual) bool { return r.name == o.Range })
	if i < 0 {
		i, o.Range = 2, usualRange
	}
	days := ranges[i].span(today)
	o.From, o.To = days.first, days.last
	o.Words = o.From.Format(frame.ShownDay) + " to " + o.To.Format(frame.ShownDay)
	if o.From.Equal(o.To) {
		o.Words = o.From.Format(frame.ShownDay)
	}
}

// span is a period of days, both included.
type span struct{ first, last time.Time }

// customDays reads a period; without a last day it ends today. fault is for the person who wrote
// it.
func customDays(first, last string, today time.Time) (days span, fault string) {
	from, wrong := frame.ParseDay(first)
	to := today
	if wrong == nil && last != "" {
		to, wrong = frame.ParseDay(last)
	}
	switch {
	case wrong != nil:
		return days, "Write the days as 2026-03-14."
	case from.After(to):
		return days, "The first day must not be after the last day."
	case to.Sub(from) >= maxRangeDays*24*time.Hour:
		return days, "At most 366 days can be shown."
	}
	return span{from, to}, ""
}

// currency chooses the currency of the sums: the wished one, or that with the most payments.
func (o *statisticsView) currency(wish string, before *statistics) {
	all := slices.Clone(o.Now.Currencies)
	if before != nil {
		all = append(all, before.Currencies...)
	}
	most := map[domain.Currency]int64{}
	for _, of := range all {
		most[of.CurrencyCode] += of.Payments
		if !slices.Contains(o.Currencies, of.CurrencyCode) {
			o.Currencies = append(o.Currencies, of.CurrencyCode)
		}
	}
	slices.Sort(o.Currencies)
	for _, c := range o.Currencies {
		if string(c) == wish {
			o.Currency = c
			return
		}
		if o.Currency == "" || most[c] > most[o.Currency] {
			o.Currency = c
		}
	}
}

func (o *statisticsView) links(v *frame.Visit) {
	for _, r := range ranges {
		query := url.Values{"range": {r.name}}
		for _, kept := range []string{"currency", "compare", "status"} {
			if value := v.Value(kept); value != "" {
				query.Set(kept, value)
			}
		}
		o.Ranges = append(o.Ranges, rangeLink{r.text, pathStatistics + "?" + query.Encode(), o.Range == r.name})
	}
}

func (o *statisticsView) fill(v *frame.Visit, before *statistics, hourly bool) {
	t := timeline{now: o.Now.ByDay, axis: "Day, UTC", compared: o.Compared}
	if hourly {
		t.now, t.axis = o.Now.ByHour, "Hour, UTC"
	}
	if before != nil {
		if t.before = before.ByDay; hourly {
			t.before = before.ByHour
		}
	}
	var names []string
	for _, of := range o.Now.ByProcessor {
		names = append(names, of.Processor)
	}
	o.Payments, o.Volume, o.Rates, o.Hours = t.payments(o.Now.ByStatus), t.volume(o.Currency), t.rates(names), hoursOfDay(&o.Now, before)
	o.Disputes = t.disputes()
	o.figures(v, before)
	o.tables(before)
	o.shares()
}

// figures are the numbers on top. Today is compared with the hours of yesterday until now.
func (o *statisticsView) figures(v *frame.Visit, before *statistics) {
	var than *bucket
	if before != nil {
		than = &before.bucket
		if o.Range == ranges[0].name {
			than = new(until(before.ByHour, v.Now().UTC().Hour()+1, o.Currency))
			o.Compared = "yesterday until this hour"
		}
	}
	o.Figures = []figure{{Name: "Payments", Text: frame.Number(o.Now.Payments)}}
	sums := o.Now.in(o.Currency)
	if o.Currency != "" {
		o.Figures = append(o.Figures, figure{Name: "Captured in " + string(o.Currency), Text: frame.Sum(sums.TotalCaptured, o.Currency), Sum: true})
	}
	o.Figures = append(o.Figures,
		figure{Name: "Authorization rate", Text: percentCell(o.Now.Authorizations.Rate).Text},
		figure{Name: "Payments refunded", Text: percentCell(o.Now.Refunds.Rate).Text},
		figure{Name: "Dispute rate", Text: percentCell(o.Now.Disputes.Rate).Text})
	if than == nil {
		return
	}
	for i := range o.Figures {
		f := &o.Figures[i]
		switch f.Name {
		case "Payments":
			f.grown(float64(o.Now.Payments), float64(than.Payments))
		case "Authorization rate":
			f.moved(o.Now.Authorizations.Rate, than.Authorizations.share(), true)
		case "Payments refunded":
			f.moved(o.Now.Refunds.Rate, whole(o, before.Refunds.Rate), false)
		case "Dispute rate":
			f.moved(o.Now.Disputes.Rate, whole(o, before.Disputes.Rate), false)
		default:
			f.grown(float(sums.TotalCaptured), float(than.in(o.Currency).TotalCaptured))
		}
	}
}

// whole returns a rate of the period before; nil if the page compares a part of that period.
func whole(o *statisticsView, rate *float64) *float64 {
	if o.Range == ranges[0].name {
		return nil
	}
	return rate
}

func float(n *big.Int) float64 { f, _ := new(big.Float).SetInt(n).Float64(); return f }

// grown sets the change of a number in percent.
func (f *figure) grown(now, before float64) {
	if before == 0 {
		if now > 0 {
			f.Change = "none before"
		}
		return
	}
	f.change((now-before)/before*100, " %", true)
}

// moved sets the change of a rate in percentage points.
func (f *figure) moved(now, before *float64, upIsGood bool) {
	if now == nil || before == nil {
		return
	}
	f.change((*now-*before)*100, " points", upIsGood)
}

func (f *figure) change(by float64, unit string, upIsGood bool) {
	by = math.Round(by*10) / 10
	if by == 0 {
		f.Change = "unchanged"
		return
	}
	arrow := "▲ "
	if by < 0 {
		arrow = "▼ "
	}
	f.Tone = "bad"
	if (by > 0) == upIsGood {
		f.Tone = "good"
	}
	f.Change = arrow + changeText(math.Abs(by)) + unit
}

// wholeChange is the change from which on it has no decimals.
const wholeChange = 1000

func changeText(by float64) string {
	if by >= wholeChange {
		return frame.Number(int64(math.Round(min(by, 1e15))))
	}
	return strconv.FormatFloat(by, 'f', 1, 64)
}
