package homepages

import (
	"cmp"
	"fmt"
	"net/url"
	"time"

	"payledger/httpapi/dashboard/disputepages"
	"payledger/httpapi/dashboard/frame"
	"payledger/httpapi/dashboard/webhookpages"
)

type view struct {
	Today statistics
	Days  statistics // the newest ones
	Count int
	Hours chart // of today and yesterday
	Daily chart // of the newest days
	Lag   lag
	// Processors are those of today, the worst first.
	Processors []health
	Failing    []webhookpages.Failing // endpoints
	Waiting    int                    // webhooks that wait for another attempt, at most some
	MoreWait   bool                   // there are more than Waiting
	Oldest     *delivery
	GivenUp    []delivery             // newest ones
	Disputes   []disputepages.Dispute // open ones, the most urgent first
	MoreOpen   bool                   // there are other open disputes
	Endpoint   bool                   // the account has a webhook endpoint
	Stops      stops
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

// days is the number of days of the chart.
const days = 14

// mostUrgent is the number of open disputes that are shown.
const mostUrgent = 5

func home(v *frame.Visit) error {
	out := view{Count: days}
	takers, err := readTakers(v)
	if err != nil {
		return err
	}
	if err := out.read(v, takers); err != nil {
		return err
	}
	if err := out.webhooks(v); err != nil {
		return err
	}
	if out.Stops, err = readStops(v, takers); err != nil {
		return err
	}
	if out.Disputes, out.MoreOpen, err = disputepages.Open(v, mostUrgent); err != nil {
		return err
	}
	return v.Show(frame.Page{Name: "home", Title: "Home", Nav: pathHome, Live: true, Charts: true, Data: &out})
}

// read reads the figures: of today and yesterday by hour, and of the newest days.
func (w *view) read(v *frame.Visit, t takers) (err error) {
	today := v.Now().UTC().Truncate(24 * time.Hour)
	if w.Today, err = readStatistics(v, today, today, true, ""); err != nil {
		return err
	}
	if w.Lag, err = lagOf(v); err != nil {
		return err
	}
	yesterday, err := readStatistics(v, today.AddDate(0, 0, -1), today.AddDate(0, 0, -1), true, "")
	if err != nil {
		return err
	}
	if w.Days, err = readStatistics(v, today.AddDate(0, 0, 1-days), today, false, ""); err != nil {
		return err
	}
	hours := timeline{now: w.Today.ByHour, before: yesterday.ByHour, compared: "yesterday", axis: "Hour, UTC"}
	w.Hours = hours.payments(w.Today.ByStatus)
	w.Hours.ID, w.Hours.Title = "today-hours", "Today by hour"
	daily := timeline{now: w.Days.ByDay, axis: "Day, UTC"}
	w.Daily = daily.payments(w.Days.ByStatus)
	w.Daily.ID, w.Daily.Title = "days", fmt.Sprintf("Payments a day, %d days", days)
	last := len(w.Days.ByDay) - 1
	w.Processors = healths(&w.Days.ByDay[last], w.Days.ByDay[:last], t.takes)
	return nil
}

// lagOf returns the lag of the newest figures that the visit read.
func lagOf(v *frame.Visit) (l lag, err error) {
	if _, err := fmt.Sscanf(v.Lag, "events=%d, ms=%d", &l.Events, &l.Ms); err != nil {
		return l, fmt.Errorf("homepages: the lag %q: %w", v.Lag, err)
	}
	return l, nil
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
