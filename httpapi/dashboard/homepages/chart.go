package homepages

import (
	"math/big"
	"strconv"
	"time"

	"payledger/domain"
	"payledger/httpapi/dashboard/frame"
)

// chart is a chart and its table, which has the same numbers: the script draws what it reads there.
type chart struct {
	ID      string
	Title   string
	Caption string
	Kind    string // stacked or lines
	Axis    string // what the rows are: Day, Hour
	Unit    string // payments, disputes, %, or a currency
	Series  []series
	Rows    []chartRow
}

type series struct {
	Label  string
	Color  int  // of the palette, from 1
	Before bool // of the period before: a dashed line
}

type chartRow struct {
	At    string // seconds since 1970 UTC, or an hour of the day
	Label string
	Cells []cell
}

// cell is a number: as people read it, and as the script reads it, "" for none.
type cell struct{ Text, Value string }

func countCell(n int64) cell { return cell{frame.Number(n), strconv.FormatInt(n, 10)} }

func moneyCell(sum *big.Int, c domain.Currency) cell {
	value := sum.String()
	if sum.IsInt64() {
		value = frame.AmountText(domain.Amount(sum.Int64()), c)
	}
	return cell{frame.Sum(sum, c), value}
}

func percentCell(rate *float64) cell {
	if rate == nil {
		return cell{Text: "–"}
	}
	return cell{percent(*rate), strconv.FormatFloat(*rate*100, 'f', 2, 64)}
}

const percents = "%"

func percent(rate float64) string { return strconv.FormatFloat(rate*100, 'f', 1, 64) + " %" }

// Drawn reports whether the chart has something to draw.
func (c chart) Drawn() bool {
	for _, row := range c.Rows {
		for _, one := range row.Cells {
			if one.Value != "" && (c.Unit == percents || one.Value != "0" && one.Value != "0.00") { // a rate of 0 is to be seen
				return true
			}
		}
	}
	return false
}

// colours are the places of statuses in the palette.
var colours = map[string]int{
	"SETTLED": 2, "PARTIALLY_SETTLED": 6, "SETTLING": 5, "AUTHORIZED": 1, "PENDING": 3, "DECLINED": 4, "FAILED": 8, "CANCELLED": 7,
}

// statuses are those of payments in the order in which they are stacked.
var statuses = []string{"SETTLED", "PARTIALLY_SETTLED", "SETTLING", "AUTHORIZED", "PENDING", "CANCELLED", "DECLINED", "FAILED"}

// at names the bucket's place: its hour, or its day.
func (b *bucket) at() chartRow {
	if b.Day == "" {
		return chartRow{At: strconv.FormatInt(b.Hour.Unix(), 10), Label: b.Hour.UTC().Format("2 Jan 15:04")}
	}
	day, err := time.Parse(time.DateOnly, b.Day)
	if err != nil {
		return chartRow{Label: b.Day}
	}
	return chartRow{At: strconv.FormatInt(day.Unix(), 10), Label: day.Format("2 Jan 2006")}
}

// timeline is the buckets of a period beside those of the period before; before may be shorter, or
// empty.
type timeline struct {
	now, before []bucket
	compared    string // the period before, in words; "": it is not shown
	axis        string
}

func (t timeline) previous(i int) *bucket {
	if i >= len(t.before) {
		return &bucket{}
	}
	return &t.before[i]
}

// draw makes a chart with a row for each bucket. cells returns the cells of a bucket, before that
// of the period before.
func (t timeline) draw(c chart, before string, cells func(*bucket) []cell, previous func(*bucket) cell) chart {
	c.Axis = t.axis
	if t.compared != "" && previous != nil {
		c.Series = append(c.Series, series{Label: before + ", " + t.compared, Color: 7, Before: true})
	}
	for i := range t.now {
		row := t.now[i].at()
		row.Cells = cells(&t.now[i])
		if t.compared != "" && previous != nil {
			row.Cells = append(row.Cells, previous(t.previous(i)))
		}
		c.Rows = append(c.Rows, row)
	}
	return c
}

// payments is the chart of the payments by status.
func (t timeline) payments(there []ofStatus) chart {
	c := chart{ID: "payments", Title: "Payments by status", Kind: "stacked", Unit: "payments", Caption: "The payments that were created then, by the status that they have now"}
	var shown []string
	for _, status := range statuses {
		for _, of := range there {
			if of.Status == status && of.Payments > 0 {
				shown = append(shown, status)
				c.Series = append(c.Series, series{Label: frame.Plain(status), Color: colours[status]})
			}
		}
	}
	return t.draw(c, "All", func(b *bucket) (cells []cell) {
		for _, status := range shown {
			n := int64(0)
			for _, of := range b.Statuses {
				if of.Status == status {
					n = of.Payments
				}
			}
			cells = append(cells, countCell(n))
		}
		return cells
	}, func(b *bucket) cell { return countCell(b.Payments) })
}

// volume is the chart of the sums of a currency.
func (t timeline) volume(currency domain.Currency) chart {
	c := chart{
		ID: "volume", Title: "Volume in " + string(currency), Kind: "lines", Unit: string(currency),
		Caption: "The sums of the payments that were created then. Requested amounts are those of all payments, also declined, failed and cancelled ones",
		Series:  []series{{Label: "Captured", Color: 2}, {Label: "Requested", Color: 1}, {Label: "Refunded", Color: 4}},
	}
	return t.draw(c, "Captured", func(b *bucket) []cell {
		of := b.in(currency)
		return []cell{moneyCell(of.TotalCaptured, currency), moneyCell(of.Total, currency), moneyCell(of.TotalRefunded, currency)}
	}, func(b *bucket) cell { return moneyCell(b.in(currency).TotalCaptured, currency) })
}

// rates is the chart of the authorization rates of processors.
func (t timeline) rates(names []string) chart {
	c := chart{ID: "rates", Title: "Authorization rate by processor", Kind: "lines", Unit: percents, Caption: "The approved authorizations among all that were decided, also at processors that were tried first"}
	for i, name := range names {
		c.Series = append(c.Series, series{Label: name, Color: i%8 + 1})
	}
	return t.draw(c, "All", func(b *bucket) (cells []cell) {
		for _, name := range names {
			var rate *float64
			for _, of := range b.Processors {
				if of.Processor == name {
					rate = of.Authorizations.Rate
				}
			}
			cells = append(cells, percentCell(rate))
		}
		return cells
	}, func(b *bucket) cell { return percentCell(b.Authorizations.Rate) })
}

// disputes is the chart of the dispute rate.
func (t timeline) disputes() chart {
	c := chart{
		ID: "disputes", Title: "Dispute rate", Kind: "lines", Unit: percents, Series: []series{{Label: "Rate", Color: 4}},
		Caption: "The disputes that were opened then, whenever their payments were made, among the captured payments that were created then, of any status and currency",
	}
	return t.draw(c, "Rate", func(b *bucket) []cell { return []cell{percentCell(b.DisputeRate)} }, func(b *bucket) cell { return percentCell(b.DisputeRate) })
}

// hoursOfDay is the chart of the authorization rate by the hour of the day.
func hoursOfDay(s, before *statistics) chart {
	c := chart{
		ID: "hours", Title: "Authorization rate by hour of the day", Kind: "lines", Axis: "Hour, UTC", Unit: percents, Caption: "The approved authorizations among all that were decided, of payments that were created in that hour of any day",
		Series: []series{{Label: "This period", Color: 1}},
	}
	if before != nil {
		c.Series = append(c.Series, series{Label: "The period before", Color: 7, Before: true})
	}
	for i, hour := range s.ByHourOfDay {
		row := chartRow{At: strconv.Itoa(hour.Hour), Label: time.Date(2026, 1, 1, hour.Hour, 0, 0, 0, time.UTC).Format("15:04"), Cells: []cell{percentCell(hour.Authorizations.Rate)}}
		if before != nil {
			row.Cells = append(row.Cells, percentCell(before.ByHourOfDay[i].Authorizations.Rate))
		}
		c.Rows = append(c.Rows, row)
	}
	return c
}
