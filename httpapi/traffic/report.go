package traffic

import (
	"context"
	"time"

	"payledger/domain"
	"payledger/projections/durations"
	"payledger/projections/paymentjson"
	"payledger/projections/statistics"
)

// Period selects the requests that were answered on some days in UTC.
type Period struct {
	From, To statistics.Day // both included
	Hourly   bool           // with ByHour
}

// Report has the counts of an account's requests that the nodes answered in a Period.
type Report struct {
	Since    paymentjson.Time `json:"since"`       // from when on a node counts
	AllSince paymentjson.Time `json:"allSince"`    // from when on each of Nodes counts
	Nodes    int              `json:"nodes"`       // whose counts are added up
	Silent   int              `json:"silentNodes"` // which did not answer: their requests are missing
	Requests
	ByDay  []OfDay  `json:"byDay"`            // from Since on, at most the newest 31 days
	ByHour []OfHour `json:"byHour,omitempty"` // likewise, if the period is Hourly
}

// Requests count requests by their status, and have the time that their answers took.
type Requests struct {
	Requests     int64 `json:"requests"`
	ClientErrors int64 `json:"clientErrors"` // 4xx, also those whose caller went away
	ServerErrors int64 `json:"serverErrors"` // 5xx
	// P50 and P99 are the milliseconds that half of the answers did not exceed, and 99 % (package
	// durations); nil: there are none.
	P50 *float64 `json:"p50Ms,omitempty"`
	P99 *float64 `json:"p99Ms,omitempty"`
}

// OfDay has the requests of a day.
type OfDay struct {
	Day statistics.Day `json:"day"`
	Requests
}

// OfHour has the requests of an hour.
type OfHour struct {
	Hour statistics.Hour `json:"hour"`
	Requests
}

// Report counts the requests of an account that all nodes answered in a period until now.
func (n *Nodes) Report(ctx context.Context, id domain.AccountID, p Period, now time.Time) (Report, error) {
	parts, silent, err := n.parts(ctx, id, p, now)
	if err != nil {
		return Report{}, err
	}
	r := Report{Nodes: len(parts), Silent: silent, ByDay: []OfDay{}}
	all, days, hours := sum{}, map[statistics.Day]*sum{}, map[statistics.Hour]*sum{}
	since, each, last := parts[0].since, parts[0].since, statistics.HourOf(now)
	for _, of := range parts {
		if of.since.Before(since) {
			since = of.since
		}
		each = later(each, of.since)
		for i := range of.hours {
			h := &of.hours[i]
			last = max(last, h.at) // the clock of another node may be in a later hour
			all.merge(&h.sum)
			mergeInto(days, h.at.Day(), &h.sum)
			mergeInto(hours, h.at, &h.sum)
		}
	}
	r.Since, r.AllSince, r.Requests = paymentjson.Time{Time: since}, paymentjson.Time{Time: each}, all.shown()
	first, end := p.hours(since, last)
	for day := first.Day(); day <= p.To && day.First() < end; day++ {
		r.ByDay = append(r.ByDay, OfDay{day, days[day].shown()})
	}
	for hour := first; p.Hourly && hour < end; hour++ {
		r.ByHour = append(r.ByHour, OfHour{hour, hours[hour].shown()})
	}
	return r, nil
}

// hours returns the hours of the period from since to the last one; end is the first one behind
// them.
func (p Period) hours(since time.Time, last statistics.Hour) (first, end statistics.Hour) {
	return max(p.From.First(), statistics.HourOf(since)), min((p.To + 1).First(), last+1)
}

func mergeInto[K comparable](sums map[K]*sum, key K, s *sum) {
	if sums[key] == nil {
		sums[key] = new(sum)
	}
	sums[key].merge(s)
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func (s *sum) shown() (r Requests) {
	if s == nil {
		return r
	}
	for _, n := range s.statuses {
		r.Requests += n
	}
	r.ClientErrors, r.ServerErrors = s.statuses[refused], s.statuses[failed]
	r.P50, r.P99 = s.took.Millis(durations.P50), s.took.Millis(durations.P99)
	return r
}
