package homepages

import (
	"strconv"
	"time"

	"payledger/httpapi/dashboard/frame"
	"payledger/httpapi/dashboard/webhookpages"
)

// webhooks are the counts of the webhooks that were planned on some days.
type webhooks struct {
	webhookCounts
	ByEndpoint []struct {
		EndpointID string
		webhookCounts
	}
	ByDay  []webhookBucket
	ByHour []webhookBucket
}

type webhookCounts struct {
	Deliveries, Succeeded, FirstAttempt, Retrying, Exhausted, Cancelled, Waiting int64

	Rate         *float64
	P50Ms, P99Ms *float64 // from planning to success
}

// webhookBucket has the counts of a day, or of an hour.
type webhookBucket struct {
	Day  string
	Hour time.Time
	webhookCounts
	Endpoints []struct {
		EndpointID string
		Rate       *float64
	}
}

// webhooksView is the part of the page about webhooks.
type webhooksView struct {
	Known bool // else they cannot be read now
	Chart chart
	Rows  []webhookRow // that with the lowest rate first
}

type webhookRow struct {
	ID, Name  string
	Deleted   bool
	Percent   string
	Bar       float64 // of 100
	Before    string
	P50, P99  string
	BeforeP99 string
	First     string // share of the succeeded ones
	webhookCounts
}

// mostLines is the number of endpoints that the chart shows: those with the lowest rates.
const mostLines = 6

func webhooksOf(v *frame.Visit, o *statisticsView, before *statistics, hourly bool) (out webhooksView, err error) {
	now := o.Now.Webhooks
	if now == nil {
		return out, nil
	}
	names, err := webhookpages.Names(v)
	if err != nil {
		return out, err
	}
	earlier := map[string]webhookCounts{}
	if before != nil && before.Webhooks != nil {
		for _, of := range before.Webhooks.ByEndpoint {
			earlier[of.EndpointID] = of.webhookCounts
		}
	}
	out.Known = true
	for _, of := range now.ByEndpoint {
		than := earlier[of.EndpointID]
		name, there := names[of.EndpointID]
		row := webhookRow{
			ID: of.EndpointID, Name: name, Deleted: !there, Percent: percentCell(of.Rate).Text, Before: percentCell(than.Rate).Text,
			P50: lasted(of.P50Ms), P99: lasted(of.P99Ms), BeforeP99: lasted(than.P99Ms), First: percentCell(ratio(of.FirstAttempt, of.Succeeded)).Text,
			webhookCounts: of.webhookCounts,
		}
		if !there {
			row.Name = "deleted endpoint " + of.EndpointID
		}
		if of.Rate != nil {
			row.Bar = *of.Rate * 100
		}
		out.Rows = append(out.Rows, row)
	}
	out.Chart = webhookChart(o, before, out.Rows, hourly)
	return out, nil
}

// webhookChart is the chart of the success rates of the endpoints with the lowest ones.
func webhookChart(o *statisticsView, before *statistics, rows []webhookRow, hourly bool) chart {
	c := chart{
		ID: "webhooks", Title: "Webhooks: success rate by endpoint", Kind: "lines", Axis: "Day, UTC", Unit: percents,
		Caption: "The webhooks planned then that succeeded by now, among all that were tried, also those that will be tried again",
	}
	now, earlier := o.Now.Webhooks.ByDay, []webhookBucket(nil)
	if hourly {
		now, c.Axis = o.Now.Webhooks.ByHour, "Hour, UTC"
	}
	if before != nil && before.Webhooks != nil {
		if earlier = before.Webhooks.ByDay; hourly {
			earlier = before.Webhooks.ByHour
		}
	}
	var shown []string
	for _, row := range rows {
		if row.Rate != nil && len(shown) < mostLines {
			shown = append(shown, row.ID)
			c.Series = append(c.Series, series{Label: short(row.Name), Color: len(shown)})
		}
	}
	compared := o.Compared != "" && earlier != nil
	if compared {
		c.Series = append(c.Series, series{Label: "All, " + o.Compared, Color: 7, Before: true})
	}
	for i := range now {
		row := (&bucket{Day: now[i].Day, Hour: now[i].Hour}).at()
		for _, id := range shown {
			var rate *float64
			for _, of := range now[i].Endpoints {
				if of.EndpointID == id {
					rate = of.Rate
				}
			}
			row.Cells = append(row.Cells, percentCell(rate))
		}
		if compared {
			var rate *float64
			if i < len(earlier) {
				rate = earlier[i].Rate
			}
			row.Cells = append(row.Cells, percentCell(rate))
		}
		c.Rows = append(c.Rows, row)
	}
	return c
}

const shortName = 36

// short returns a name for a legend.
func short(name string) string {
	if runes := []rune(name); len(runes) > shortName {
		return string(runes[:shortName-1]) + "…"
	}
	return name
}

// units are those of times, each from a number of milliseconds on.
var units = []struct {
	name     string
	ms, from float64
}{{"ms", 1, 0}, {"s", 1000, 1000}, {"min", 60_000, 120_000}, {"h", 3_600_000, 7_200_000}, {"days", 86_400_000, 172_800_000}}

// lasted writes milliseconds with two or three digits, in a unit that people read.
func lasted(ms *float64) string {
	if ms == nil {
		return "–"
	}
	i := len(units) - 1
	for i > 0 && *ms < units[i].from {
		i--
	}
	n, decimals := *ms/units[i].ms, 0
	if n < 10 {
		decimals = 1
	}
	return strconv.FormatFloat(n, 'f', decimals, 64) + "\u00a0" + units[i].name
}
