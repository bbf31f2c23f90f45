package homepages

import (
	"cmp"
	"fmt"
	"math/big"
	"net/url"
	"slices"
	"time"

	"payledger/domain"
	"payledger/httpapi/dashboard/frame"
	"payledger/httpapi/dashboard/webhookpages"
)

// statistics are the counts of some days (D20).
type statistics struct {
	Payments   int64
	Currencies []ofCurrency
	ByStatus   []struct {
		Status   string
		Payments int64
	}
	ByProcessor []struct {
		Processor      string
		Payments       int64
		Authorizations struct {
			Approved, Declined, Failed int64
			Rate                       *float64
		}
	}
	ByDay []struct {
		Day        string
		Payments   int64
		Currencies []ofCurrency
	}
}

type ofCurrency struct {
	CurrencyCode  domain.Currency
	Payments      int64
	Total         *big.Int
	TotalCaptured *big.Int
	TotalRefunded *big.Int
}

type view struct {
	Today    statistics
	Days     statistics // the newest ones
	Count    int
	First    string // the first of Days
	Bars     []bar
	Highest  int64
	Lag      lag
	Failing  []webhookpages.Failing // endpoints
	Waiting  int                    // webhooks that wait for another attempt, at most some
	MoreWait bool                   // there are more than Waiting
	Oldest   *delivery
	GivenUp  []delivery // newest ones
	Disputes []dispute
	Endpoint bool // the account has a webhook endpoint
}

type delivery struct {
	ID, EndpointID, EventType, LastFailure string
	LastStatusCode                         int
	PlannedAt, UpdatedAt                   time.Time
	Endpoint                               string // its name
}

// lag is how far the figures may be behind the log (D11).
type lag struct {
	Events int64
	Ms     int64 // the age of the oldest event that is missing
}

type dispute struct {
	ID, Type, Status    string
	Amount              domain.Amount
	Currency            domain.Currency
	ChallengeRequiredBy *time.Time
}

type bar struct {
	Day                 string
	Payments            int64
	X, Y, Width, Height float64
}

// The chart's size in its own units, and its days.
const (
	chartWidth, chartHeight = 560.0, 120.0
	days                    = 14
)

func home(v *frame.Visit) error {
	out := view{Count: days}
	if err := v.Get("/management/statistics", nil, &out.Today); err != nil {
		return err
	}
	if _, err := fmt.Sscanf(v.Lag, "events=%d, ms=%d", &out.Lag.Events, &out.Lag.Ms); err != nil {
		return fmt.Errorf("homepages: the lag %q: %w", v.Lag, err)
	}
	first := v.Now().UTC().AddDate(0, 0, 1-days).Format(time.DateOnly)
	if err := v.Get("/management/statistics", url.Values{"from": {first}}, &out.Days); err != nil {
		return err
	}
	out.First = first
	out.draw()
	if err := out.webhooks(v); err != nil {
		return err
	}
	var open struct{ Data []dispute }
	if err := v.Get("/management/disputes", url.Values{"status": {"OPEN"}, "limit": {"100"}}, &open); err != nil {
		return err
	}
	out.Disputes = mostUrgent(open.Data)
	return v.Show(frame.Page{Name: "home", Title: "Home", Nav: pathHome, Live: true, Data: out})
}

func (w *view) draw() {
	for _, d := range w.Days.ByDay {
		w.Highest = max(w.Highest, d.Payments)
	}
	width := chartWidth / float64(max(1, len(w.Days.ByDay)))
	for i, d := range w.Days.ByDay {
		height := 0.0
		if w.Highest > 0 {
			height = float64(d.Payments) / float64(w.Highest) * (chartHeight - 10)
		}
		w.Bars = append(w.Bars, bar{d.Day, d.Payments, float64(i)*width + 3, chartHeight - height, width - 6, height})
	}
}

func (w *view) webhooks(v *frame.Visit) error {
	names, err := webhookpages.Names(v)
	if err != nil {
		return err
	}
	w.Endpoint = len(names) > 0
	if w.Failing, err = webhookpages.FailingEndpoints(v); err != nil {
		return err
	}
	var waiting, failed frame.List[delivery]
	if err := v.Get("/management/webhook-deliveries", url.Values{"outcome": {"PLANNED,FAILED"}, "limit": {"100"}}, &waiting); err != nil {
		return err
	}
	w.Waiting, w.MoreWait = len(waiting.Data), waiting.NextCursor != ""
	if w.Waiting > 0 {
		w.Oldest = &waiting.Data[w.Waiting-1] // the list is newest first
	}
	if err := v.Get("/management/webhook-deliveries", url.Values{"outcome": {"EXHAUSTED"}, "limit": {"5"}}, &failed); err != nil {
		return err
	}
	for _, d := range failed.Data {
		d.Endpoint = cmp.Or(names[d.EndpointID], "a deleted endpoint")
		w.GivenUp = append(w.GivenUp, d)
	}
	return nil
}

// mostUrgent returns the five disputes whose deadlines end first. Those without a deadline come
// last.
func mostUrgent(open []dispute) []dispute {
	never := time.Unix(1<<40, 0)
	slices.SortStableFunc(open, func(a, b dispute) int {
		return cmp.Or(a.ChallengeRequiredBy, &never).Compare(*cmp.Or(b.ChallengeRequiredBy, &never))
	})
	return open[:min(5, len(open))]
}
