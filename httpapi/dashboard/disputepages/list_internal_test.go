package disputepages

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"payledger/httpapi/dashboard/frame"
)

// TestOpenOfManyDisputes: the disputes with the nearest deadlines come first, of any number of open
// ones, and then the newest others, whose deadline is over or that have none. Two calls of the API
// are enough.
func TestOpenOfManyDisputes(t *testing.T) {
	t.Parallel()
	const answerable, others = 30, 1000
	now := time.Date(2026, 3, 14, 14, 0, 0, 0, time.UTC)
	var byDeadline, newest []Dispute
	for i := range others + answerable {
		d := Dispute{ID: fmt.Sprint(i)}
		switch {
		case i >= others: // the oldest
			d.ChallengeRequiredBy = new(now.Add(time.Duration(i) * time.Hour))
			byDeadline = append(byDeadline, d)
		case i%2 == 0:
			d.ChallengeRequiredBy = new(now.Add(-time.Duration(i+1) * time.Hour))
		}
		newest = append(newest, d)
	}
	calls := 0
	api := func(_ context.Context, _ frame.Identity, r frame.Request) frame.Answer {
		calls++
		var page frame.List[Dispute]
		limit, all := 0, newest
		if r.Query.Get("sort") == "deadline" {
			all = byDeadline
		} else if r.Query.Get("status") != "OPEN" {
			t.Errorf("disputes of any status are read: %v", r.Query)
		}
		_, err := fmt.Sscan(r.Query.Get("limit"), &limit)
		if page.Data = all[:min(limit, len(all))]; limit < len(all) {
			page.NextCursor = "more"
		}
		body, unfit := json.Marshal(page)
		if err != nil || unfit != nil {
			t.Error(err, unfit)
		}
		return frame.Answer{Status: http.StatusOK, Body: body}
	}
	v := (&frame.Frame{Config: frame.Config{API: api, Now: func() time.Time { return now }}}).Visit(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil), frame.Identity{})
	for most, want := range map[int][]string{5: {"1000", "1004"}, 40: {"1000", "9"}} {
		calls = 0
		open, more, err := Open(v, most)
		if err != nil || len(open) != most || !more || open[0].ID != want[0] || open[most-1].ID != want[1] || calls > 2 {
			t.Errorf("%d: %d, more %t, %v, %d calls: %+v", most, len(open), more, err, calls, open)
		}
	}
	byDeadline, newest = byDeadline[:2], newest[others:others+2]
	if open, more, err := Open(v, 2); err != nil || len(open) != 2 || more {
		t.Errorf("%+v, more %t, %v", open, more, err)
	}
}
