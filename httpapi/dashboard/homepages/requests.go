package homepages

import (
	"strconv"
	"time"

	"payledger/httpapi/dashboard/frame"
)

// requests are the counts of the API requests that the nodes answered on some days, from a time on.
type requests struct {
	Since, AllSince    time.Time
	Nodes, SilentNodes int
	requestCounts
	ByDay  []requestBucket
	ByHour []requestBucket
}

type requestCounts struct {
	Requests, ClientErrors, ServerErrors int64

	P50Ms, P99Ms *float64
}

// requestBucket has the counts of a day, or of an hour.
type requestBucket struct {
	Day  string
	Hour time.Time
	requestCounts
}

// requestsView is the part of the page about API requests.
type requestsView struct {
	*requests
	Partly  bool // the days begin before Since
	Restart bool // a node began to count after the first of the days
	Figures []figure
	Chart   chart
	Latency chart
}

// buckets are the hours of the period, or its days, by their places.
func (r *requests) buckets(hourly bool) map[string]requestCounts {
	all := map[string]requestCounts{}
	of := r.ByDay
	if hourly {
		of = r.ByHour
	}
	for i := range of {
		all[(&bucket{Day: of[i].Day, Hour: of[i].Hour}).at().At] = of[i].requestCounts
	}
	return all
}

func requestsOf(o *statisticsView, before *statistics, hourly bool) requestsView {
	now := &o.Now.Requests
	out := requestsView{
		requests: now, Partly: now.Since.After(o.From), Restart: now.AllSince.After(o.From) && now.AllSince.After(now.Since), Figures: now.figures(before),
		Chart: chart{
			ID: "requests", Title: "API requests", Kind: "stacked", Unit: "requests", Caption: "The requests that were answered then",
			Series: []series{{Label: "Succeeded", Color: 2}, {Label: "Refused (4xx)", Color: 3}, {Label: "Failed (5xx)", Color: 4}},
		},
		Latency: chart{
			ID: "latency", Title: "API latency", Kind: "lines", Unit: millis, Series: []series{{Label: "p50", Color: 1}, {Label: "p99", Color: 4}},
			Caption: "The time from the arrival of a request to the end of its answer: half of the answers took no longer than p50, and 99 % no longer than p99",
		},
	}
	t, there := timeline{now: o.Now.ByDay, axis: "Day, UTC"}, now.buckets(hourly)
	if hourly {
		t.now, t.axis = o.Now.ByHour, "Hour, UTC"
	}
	earlier := map[string]requestCounts{}
	if before != nil && before.Requests.Requests > 0 {
		t.compared, t.before, earlier = o.Compared, before.ByDay, before.Requests.buckets(hourly)
		if hourly {
			t.before = before.ByHour
		}
	}
	out.Chart = t.draw(out.Chart, "All", func(b *bucket) []cell {
		n, known := there[b.at().At]
		return []cell{knownCell(n.Requests-n.ClientErrors-n.ServerErrors, known), knownCell(n.ClientErrors, known), knownCell(n.ServerErrors, known)}
	}, func(b *bucket) cell {
		n, known := earlier[b.at().At]
		return knownCell(n.Requests, known)
	})
	out.Latency = t.draw(out.Latency, "p99", func(b *bucket) []cell {
		n := there[b.at().At]
		return []cell{lastedCell(n.P50Ms), lastedCell(n.P99Ms)}
	}, func(b *bucket) cell { return lastedCell(earlier[b.at().At].P99Ms) })
	return out
}

// figures are the numbers of the whole period, with their changes if those of the period before
// are known.
func (r *requests) figures(before *statistics) []figure {
	all := []figure{
		{Name: "API requests", Text: frame.Number(r.Requests)}, {Name: "Failed (5xx)", Text: percentCell(ratio(r.ServerErrors, r.Requests)).Text},
		{Name: "Refused (4xx)", Text: percentCell(ratio(r.ClientErrors, r.Requests)).Text}, {Name: "Latency p50", Text: lasted(r.P50Ms)}, {Name: "Latency p99", Text: lasted(r.P99Ms)},
	}
	if before == nil || before.Requests.Requests == 0 || r.Requests == 0 || before.Requests.AllSince.After(before.Requests.Since) {
		return all // of the period before, some nodes know a part only
	}
	than := &before.Requests
	all[0].grown(float64(r.Requests), float64(than.Requests))
	all[1].moved(ratio(r.ServerErrors, r.Requests), ratio(than.ServerErrors, than.Requests), false)
	all[2].moved(ratio(r.ClientErrors, r.Requests), ratio(than.ClientErrors, than.Requests), false)
	all[3].lasted(r.P50Ms, than.P50Ms)
	all[4].lasted(r.P99Ms, than.P99Ms)
	return all
}

// lasted sets the change of a duration in percent; nil is not known.
func (f *figure) lasted(now, before *float64) {
	if now != nil && before != nil && *before > 0 {
		f.change((*now-*before) / *before * 100, " %", false)
	}
}

// knownCell is a number, or empty if no node counted then.
func knownCell(n int64, known bool) cell {
	if !known {
		return cell{Text: "–"}
	}
	return countCell(n)
}

const millis = "ms"

func lastedCell(ms *float64) cell {
	if ms == nil {
		return cell{Text: "–"}
	}
	return cell{lasted(ms), strconv.FormatFloat(*ms, 'f', 3, 64)}
}
