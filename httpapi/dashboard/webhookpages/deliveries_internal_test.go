package webhookpages

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"payledger/httpapi/dashboard/frame"
)

// TestDetailsOfList: a detail of a webhook that cannot be read is left out of the list, and costs
// no other one. All details together take a second at most.
func TestDetailsOfList(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var called []string
		answer := func(status int, body string) frame.Answer { return frame.Answer{Status: status, Body: []byte(body)} }
		api := func(ctx context.Context, _ frame.Identity, r frame.Request) frame.Answer {
			id := r.Path[strings.LastIndex(r.Path, "/")+1:]
			called = append(called, id)
			switch id {
			case "dispute":
				return answer(http.StatusOK, `{"paymentId":"p"}`)
			case "good":
				return answer(http.StatusOK, `{"eventType":"PAYMENT.STATUS","body":{"payment":{"status":"SETTLED"}}}`)
			case "slow":
				<-ctx.Done()
			}
			return answer(http.StatusServiceUnavailable, `{"error":{"errorId":"ServiceUnavailable"}}`)
		}
		v := (&frame.Frame{Config: frame.Config{API: api}}).Visit(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil), frame.Identity{})
		rows := []deliveryRow{{DisputeID: "unknown"}, {DisputeID: "dispute"}, {DisputeID: "unknown"}}
		for _, id := range []string{"bad", "good", "slow", "later"} {
			rows = append(rows, deliveryRow{ID: id, EventType: paymentStatus})
		}
		began := time.Now()
		complete(v, rows)
		if took := time.Since(began); took != lookUps || v.Ctx.Err() != nil {
			t.Errorf("took %s, and then %v", took, v.Ctx.Err())
		}
		if !slices.Equal(called, []string{"unknown", "dispute", "bad", "good", "slow"}) {
			t.Errorf("called %s", called)
		}
		if rows[0].PaymentID != "" || rows[1].PaymentID != "p" || rows[3].Status != "" || rows[4].Status != "SETTLED" || rows[5].Status != "" {
			t.Errorf("%+v", rows)
		}
	})
}
