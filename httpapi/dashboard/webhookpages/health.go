package webhookpages

import (
	"net/url"
	"time"

	"payledger/httpapi/dashboard/frame"
)

type health struct {
	Word, Tone  string
	LastSuccess *time.Time
	Waiting     int64 // deliveries with an automatic attempt ahead
	MoreWaiting bool  // there are more than Waiting
	Oldest      *time.Time
	Retrying    int64 // of Waiting: an attempt has failed
	GivenUp     int64 // EXHAUSTED, planned in givenUpFor
	MoreGivenUp bool
	Failure     *reason   // of the newest failed delivery
	Since       time.Time // of Failure: when the first delivery failed that has no success after it
}

const (
	givenUpFor   = 7 * 24 * time.Hour
	waitingPages = 5           // pages of 100 that are counted
	late         = time.Minute // a delivery that waits longer without a failure is late
	newest       = "20"        // successes among which the latest is taken: a late resend may have ended an older delivery
)

func healthOf(v *frame.Visit, e endpoint) (h health, err error) {
	var done, lost frame.List[deliveryRow]
	of := func(q url.Values) url.Values { q.Set("endpointId", e.ID); return q }
	if err := v.Get(apiDeliveries, of(frame.Query("outcome", "SUCCEEDED", "limit", newest)), &done); err != nil {
		return h, err
	}
	for _, d := range done.Data {
		if h.LastSuccess == nil || d.UpdatedAt.After(*h.LastSuccess) {
			h.LastSuccess = &d.UpdatedAt
		}
	}
	open, more, err := frame.Some[deliveryRow](v, apiDeliveries, of(frame.Query("outcome", "PLANNED,FAILED", "limit", "100")), waitingPages)
	if err != nil {
		return h, err
	}
	h.MoreWaiting = more
	var failed []deliveryRow
	for _, d := range open {
		h.Waiting, h.Oldest = h.Waiting+1, &d.PlannedAt
		if d.Outcome == "FAILED" {
			h.Retrying++
			failed = append(failed, d)
		}
	}
	since := v.Now().Add(-givenUpFor)
	if err := v.Get(apiDeliveries, of(frame.Query("outcome", "EXHAUSTED", "from", frame.APITime(since), "limit", "100")), &lost); err != nil {
		return h, err
	}
	h.GivenUp, h.MoreGivenUp = int64(len(lost.Data)), lost.NextCursor != ""
	h.fail(append(failed, lost.Data...))
	h.judge(e, v.Now())
	return h, nil
}

// fail sets why and since when deliveries fail, from the failed ones.
func (h *health) fail(failed []deliveryRow) {
	var newest time.Time
	for _, d := range failed {
		if h.LastSuccess != nil && !d.UpdatedAt.After(*h.LastSuccess) {
			continue
		}
		if d.UpdatedAt.After(newest) {
			newest, h.Failure = d.UpdatedAt, reasonOf(d.LastFailure)
		}
		since := d.PlannedAt
		if h.LastSuccess != nil && since.Before(*h.LastSuccess) {
			since = *h.LastSuccess
		}
		if h.Since.IsZero() || since.Before(h.Since) {
			h.Since = since
		}
	}
}

// Failing is an endpoint whose deliveries fail.
type Failing struct {
	ID, Name, Text string // Text says why
	Since          time.Time
	OrLonger       bool // there are more failed deliveries than were looked at
}

// FailingEndpoints returns the enabled endpoints whose deliveries fail. It takes one call if no
// delivery has failed in givenUpFor.
func FailingEndpoints(v *frame.Visit) (all []Failing, err error) {
	q := frame.Query("outcome", "FAILED,EXHAUSTED", "from", frame.APITime(v.Now().Add(-givenUpFor)), "limit", "100")
	failed, _, err := frame.Some[deliveryRow](v, apiDeliveries, q, waitingPages)
	if err != nil || len(failed) == 0 {
		return nil, err
	}
	candidates := map[string]bool{}
	for _, d := range failed {
		candidates[d.EndpointID] = true
	}
	endpoints, err := allEndpoints(v)
	if err != nil {
		return nil, err
	}
	for _, e := range endpoints {
		if !e.Enabled || !candidates[e.ID] {
			continue
		}
		h, err := healthOf(v, e)
		if err != nil {
			return nil, err
		}
		if h.Failure != nil {
			all = append(all, Failing{e.ID, e.Name(), h.Failure.Text, h.Since, h.MoreWaiting || h.MoreGivenUp})
		}
	}
	return all, nil
}

func (h *health) judge(e endpoint, now time.Time) {
	switch {
	case !e.Enabled:
		h.Word, h.Tone = "Disabled", ""
	case h.Failure != nil:
		h.Word, h.Tone = "Failing", "bad"
	case h.Oldest != nil && now.Sub(*h.Oldest) > late:
		h.Word, h.Tone = "Late", "warn"
	case h.LastSuccess == nil && h.Waiting == 0:
		h.Word, h.Tone = "No webhook yet", ""
	default:
		h.Word, h.Tone = "Healthy", "good"
	}
}
