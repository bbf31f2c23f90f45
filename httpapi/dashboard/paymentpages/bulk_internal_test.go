package paymentpages

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"payledger/httpapi/dashboard/frame"
)

// TestSlowBulk: if the API is slow, the page before a bulk refund has the payments that were read
// within its time, and says that more fit (D22.2).
func TestSlowBulk(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	read := 0
	api := func(_ context.Context, _ frame.Identity, r frame.Request) frame.Answer {
		switch {
		case r.Path == apiPayments:
			var all []any
			for range frame.BulkMost {
				all = append(all, map[string]any{"id": "p" + strings.Repeat("x", len(all))})
			}
			return encoded(map[string]any{"data": all})
		case r.Path == "/management/disputes":
			return encoded(map[string]any{"data": []any{}})
		}
		read++
		now = now.Add(3 * time.Second)
		answer := encoded(map[string]any{"currencyCode": "EUR", "processor": map[string]any{"amountCaptured": 100}})
		answer.Revision = 5
		return answer
	}
	v, w := visitOf(t, pathBulk+"?order=o", api, func() time.Time { return now })
	if err := askBulk(v); err != nil || w.Code != http.StatusOK {
		t.Fatal(err, w.Code)
	}
	if page := w.Body.String(); read != 4 || !strings.Contains(page, "More than 4 payments fit") || strings.Count(page, `name="payment"`) != 4 {
		t.Errorf("%d payments were read: %s", read, page)
	}
}
