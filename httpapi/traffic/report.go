package traffic

import (
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

// Report has the counts of an account's requests that this node answered in a Period.
type Report struct {
	Since paymentjson.Time `json:"since"` // from when on the node counts
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

// Report counts the requests of an account in a period until now.
func (c *Counts) Report(id domain.AccountID, p Period, now time.Time) (Report, error) {
	a, since := (*account)(nil), c.since
	if found, known := c.accounts.Load(id); known {
		a = found.(*account)
		since = a.since
	} else if c.mayHaveForgotten() {
		since = now
	}
	since = later(since, time.Unix(int64(statistics.HourOf(now)-keptHours+1)*int64(time.Hour/time.Second), 0).UTC())
	r := Report{Since: paymentjson.Time{Time: since}, ByDay: []OfDay{}}
	first := max(p.From.First(), statistics.HourOf(since))
	end := min((p.To + 1).First(), statistics.HourOf(now)+1)
	all, days, hours := sum{}, map[statistics.Day]*sum{}, map[statistics.Hour]*sum{}
	if a != nil {
		err := a.each(first, end, func(at statistics.Hour, s *sum) {
			all.merge(s)
			if days[at.Day()] == nil {
				days[at.Day()] = new(sum)
			}
			days[at.Day()].merge(s)
			hours[at] = s
		})
		if err != nil {
			return r, err
		}
	}
	r.Requests = all.shown()
	for day := first.Day(); day <= p.To && day.First() < end; day++ {
		r.ByDay = append(r.ByDay, OfDay{day, days[day].shown()})
	}
	for hour := first; p.Hourly && hour < end; hour++ {
		r.ByHour = append(r.ByHour, OfHour{hour, hours[hour].shown()})
	}
	return r, nil
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
