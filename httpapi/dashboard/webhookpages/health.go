package webhookpages

import (
	"net/url"
	"time"

	"payledger/httpapi/dashboard/frame"
)

// health is what an endpoint's deliveries tell about it.
type health struct {
	Word, Tone  string
	LastSuccess *time.Time
	Waiting     int64 // deliveries with an automatic attempt ahead
	MoreWaiting bool  // there are more than Waiting
	Oldest      *time.Time
	Retrying    int64 // of Waiting: an attempt has failed
	GivenUp     int64 // EXHAUSTED, planned in givenUpFor
	MoreGivenUp bool
	Failure     *reason // of the newest failed delivery
}

const (
	givenUpFor   = 7 * 24 * time.Hour
	waitingPages = 5           // pages of 100 that are counted
	late         = time.Minute // a delivery that waits longer without a failure is late
	newest       = "20"        // successes among which the latest is taken: a late resend may have ended an older delivery
)

// healthOf reads an endpoint's health.
func healthOf(v *frame.Visit, e endpoint) (h health, err error) {
	var done, open, lost deliveryPage
	of := func(q url.Values) url.Values { q.Set("endpointId", e.ID); return q }
	if err := v.Get(apiDeliveries, of(frame.Query("outcome", "SUCCEEDED", "limit", newest)), &done); err != nil {
		return h, err
	}
	for _, d := range done.Data {
		if h.LastSuccess == nil || d.UpdatedAt.After(*h.LastSuccess) {
			h.LastSuccess = &d.UpdatedAt
		}
	}
	q := of(frame.Query("outcome", "PLANNED,FAILED", "limit", "100"))
	var failed *deliveryRow
	for range waitingPages {
		open = deliveryPage{}
		if err := v.Get(apiDeliveries, q, &open); err != nil {
			return h, err
		}
		for _, d := range open.Data {
			h.Waiting, h.Oldest = h.Waiting+1, &d.PlannedAt
			if d.Outcome == "FAILED" {
				h.Retrying++
				failed = newer(failed, &d)
			}
		}
		if open.NextCursor == "" {
			break
		}
		q.Set("cursor", open.NextCursor)
	}
	h.MoreWaiting = open.NextCursor != ""
	since := v.Now().Add(-givenUpFor)
	if err := v.Get(apiDeliveries, of(frame.Query("outcome", "EXHAUSTED", "from", apiTime(since), "limit", "100")), &lost); err != nil {
		return h, err
	}
	h.GivenUp, h.MoreGivenUp = int64(len(lost.Data)), lost.NextCursor != ""
	for _, d := range lost.Data {
		failed = newer(failed, &d)
	}
	if failed != nil && (h.LastSuccess == nil || failed.UpdatedAt.After(*h.LastSuccess)) {
		h.Failure = reasonOf(failed.LastFailure)
	}
	h.judge(e, v.Now())
	return h, nil
}

func newer(a, b *deliveryRow) *deliveryRow {
	if a == nil || b.UpdatedAt.After(a.UpdatedAt) {
		return b
	}
	return a
}

// judge sets the word for the endpoint's state.
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
