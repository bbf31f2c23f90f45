package deliveries

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"

	"payledger/domain"
	"payledger/projections/durations"
	"payledger/projections/sqlitefile"
	"payledger/projections/statistics"
)

// Period selects the deliveries that were planned on some days in UTC.
type Period struct {
	From, To statistics.Day // both included
	Hourly   bool           // with ByHour
}

// Statistics has the counts of an account's deliveries that were planned in a Period.
type Statistics struct {
	Counts
	ByEndpoint []OfEndpoint `json:"byEndpoint"`       // that with the lowest rate first
	ByDay      []OfDay      `json:"byDay"`            // every day, also one without deliveries
	ByHour     []OfHour     `json:"byHour,omitempty"` // every hour, if the period is Hourly
}

// Counts count deliveries by the status that they have now, and the time from planning to success.
type Counts struct {
	Deliveries int64 `json:"deliveries"`   // all of them
	Succeeded  int64 `json:"succeeded"`    // also those that a person or a replay sent
	First      int64 `json:"firstAttempt"` // of those that succeeded: at the first attempt
	Retrying   int64 `json:"retrying"`     // the last attempt failed, another one follows
	Exhausted  int64 `json:"exhausted"`    // all automatic attempts failed
	Cancelled  int64 `json:"cancelled"`    // the endpoint was deleted or disabled when an attempt was due
	Waiting    int64 `json:"waiting"`      // for the first automatic attempt
	// Rate is succeeded among succeeded, retrying and exhausted, from 0 to 1 with four decimals;
	// nil: none of these.
	Rate *float64 `json:"rate,omitempty"`
	// P50 and P99 are the time from planning to success in milliseconds that half of the succeeded
	// deliveries did not exceed, and 99 % of them (package durations); nil: none succeeded.
	P50 *float64 `json:"p50Ms,omitempty"`
	P99 *float64 `json:"p99Ms,omitempty"`
}

// OfEndpoint has the deliveries to an endpoint, which may be deleted by now.
type OfEndpoint struct {
	Endpoint domain.EndpointID `json:"endpointId"`
	Counts
}

// OfDay has the deliveries that were planned on a day.
type OfDay struct {
	Day statistics.Day `json:"day"`
	Bucket
}

// OfHour has the deliveries that were planned in an hour.
type OfHour struct {
	Hour statistics.Hour `json:"hour"`
	Bucket
}

// Bucket has the counts of a day or of an hour.
type Bucket struct {
	Counts
	Endpoints []Rate `json:"endpoints"`
}

// Rate has the success rate of an endpoint.
type Rate struct {
	Endpoint   domain.EndpointID `json:"endpointId"`
	Deliveries int64             `json:"deliveries"`
	Succeeded  int64             `json:"succeeded"`
	Rate       *float64          `json:"rate,omitempty"` // as in Counts
}

const selectSpans = `SELECT at, counts FROM counts WHERE account = ? AND daily = ? AND at >= ? AND at < ? ORDER BY at`

// Statistics counts the deliveries of an account that were planned in a period. It counts the
// applied records and does not wait.
func (x *Index) Statistics(ctx context.Context, account domain.AccountID, p Period) (Statistics, error) {
	w, done := x.reading()
	defer done()
	found, err := readStatistics(ctx, w.file.Readers(), account, p)
	if err != nil {
		return found, fmt.Errorf("deliveries: statistics: %w", w.file.Noticed(err))
	}
	return found, nil
}

func readStatistics(ctx context.Context, file *sql.DB, account domain.AccountID, p Period) (s Statistics, err error) {
	all := counts{}
	days, err := readSpans(ctx, file, span{account, true, int64(p.From)}, int64(p.To+1), all)
	if err != nil {
		return s, err
	}
	for day := p.From; day <= p.To; day++ {
		s.ByDay = append(s.ByDay, OfDay{day, days[int64(day)].bucket()})
	}
	if p.Hourly {
		first, end := p.From.First(), (p.To + 1).First()
		hours, err := readSpans(ctx, file, span{account, false, int64(first)}, int64(end), counts{})
		if err != nil {
			return s, err
		}
		for hour := first; hour < end; hour++ {
			s.ByHour = append(s.ByHour, OfHour{hour, hours[int64(hour)].bucket()})
		}
	}
	s.Counts, s.ByEndpoint = all.sum(), []OfEndpoint{}
	for endpoint, t := range all {
		s.ByEndpoint = append(s.ByEndpoint, OfEndpoint{endpoint, t.shown()})
	}
	slices.SortFunc(s.ByEndpoint, func(a, b OfEndpoint) int {
		return cmp.Or(cmp.Compare(a.orOne(), b.orOne()), cmp.Compare(b.Deliveries, a.Deliveries), cmp.Compare(a.Endpoint, b.Endpoint))
	})
	return s, nil
}

// orOne returns the rate; 1 if there is none.
func (c *Counts) orOne() float64 {
	if c.Rate == nil {
		return 1
	}
	return *c.Rate
}

// readSpans reads the counts of spans from one to before an end, and adds them to all.
func readSpans(ctx context.Context, file *sql.DB, from span, end int64, all counts) (map[int64]counts, error) {
	found := map[int64]counts{}
	rows := sqlitefile.Rows(file.QueryContext(ctx, selectSpans, string(from.account), from.daily, from.at, end))
	return found, rows.Each(func(scan sqlitefile.Scan) error {
		var at int64
		var b sql.RawBytes
		if err := scan(&at, &b); err != nil {
			return err
		}
		found[at] = counts{}
		if err := found[at].read(b); err != nil {
			return err
		}
		for endpoint, t := range found[at] {
			all.at(endpoint).merge(t)
		}
		return nil
	})
}

func (c counts) bucket() Bucket {
	b := Bucket{Counts: c.sum(), Endpoints: make([]Rate, 0, len(c))}
	for endpoint, t := range c {
		if of := t.shown(); of.Deliveries > 0 {
			b.Endpoints = append(b.Endpoints, Rate{endpoint, of.Deliveries, of.Succeeded, of.Rate})
		}
	}
	slices.SortFunc(b.Endpoints, func(a, b Rate) int { return cmp.Compare(a.Endpoint, b.Endpoint) })
	return b
}

func (c counts) sum() Counts {
	var all tally
	for _, t := range c {
		all.merge(t)
	}
	return all.shown()
}

const rateDecimals = 10_000

func (t *tally) shown() Counts {
	n := &t.numbers
	c := Counts{
		Deliveries: n[nSucceeded] + n[nRetrying] + n[nExhausted] + n[nCancelled] + n[nWaiting],
		Succeeded:  n[nSucceeded], First: n[nFirst], Retrying: n[nRetrying], Exhausted: n[nExhausted], Cancelled: n[nCancelled], Waiting: n[nWaiting],
		P50: t.took.Millis(durations.P50), P99: t.took.Millis(durations.P99),
	}
	if tried := c.Succeeded + c.Retrying + c.Exhausted; tried > 0 {
		c.Rate = new(float64(c.Succeeded*rateDecimals/tried) / rateDecimals)
	}
	return c
}
