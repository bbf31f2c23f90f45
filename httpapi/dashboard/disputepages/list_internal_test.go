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

// TestOpenOfManyPages: the dispute with the nearest deadline comes first wherever it stands in the
// list of the API, and those without a deadline come last.
func TestOpenOfManyPages(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 3, 14, 14, 0, 0, 0, time.UTC)
	const pages = 3
	api := func(_ context.Context, _ frame.Identity, r frame.Request) frame.Answer {
		var page frame.List[Dispute]
		n := 0
		_, _ = fmt.Sscan(r.Query.Get("cursor"), &n) // the first page has none
		for i := range 100 {
			d := Dispute{ID: fmt.Sprint(n*100 + i)}
			if i > 0 {
				by := began.Add(-time.Duration(n*100+i) * time.Hour)
				d.ChallengeRequiredBy = &by
			}
			page.Data = append(page.Data, d)
		}
		if n+1 < pages {
			page.NextCursor = fmt.Sprint(n + 1)
		}
		body, err := json.Marshal(page)
		if err != nil {
			t.Error(err)
		}
		return frame.Answer{Status: http.StatusOK, Body: body}
	}
	v := (&frame.Frame{Config: frame.Config{API: api}}).Visit(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil), frame.Identity{})
	for most, wantMore := range map[int]bool{5: true, 100 * pages: false} {
		open, more, err := Open(v, most)
		if err != nil || len(open) != most || more != wantMore || open[0].ID != "299" || open[4].ID != "295" {
			t.Fatalf("%d: %d, more %t, %v: %+v", most, len(open), more, err, open[:min(5, len(open))])
		}
		if last := open[most-1]; most > 5 && last.ChallengeRequiredBy != nil {
			t.Errorf("the last one has a deadline: %+v", last)
		}
	}
}
