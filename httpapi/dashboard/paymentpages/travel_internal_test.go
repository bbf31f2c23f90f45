package paymentpages

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"
)

// history is a payment that was authorized at 0 s and captured at 10 s. The webhook of the
// authorization took from 5 to 6 s at one endpoint, and from 8 to 17 s at another.
func history(t *testing.T, began time.Time) view {
	t.Helper()
	text := fmt.Sprintf(`[
		{"revision":1,"time":%q,"type":"payment.authorized","payment":{"status":"AUTHORIZED"},"webhooks":[
			{"endpointId":"fast","eventType":"PAYMENT.STATUS","attempts":[{"startedAt":%q,"durationMs":1000}]},
			{"endpointId":"slow","eventType":"PAYMENT.STATUS","attempts":[{"startedAt":%q,"durationMs":9000}]}]},
		{"revision":2,"time":%q,"type":"payment.captured","payment":{"status":"SETTLED"}}]`,
		began.Format(time.RFC3339), began.Add(5*time.Second).Format(time.RFC3339), began.Add(8*time.Second).Format(time.RFC3339), began.Add(10*time.Second).Format(time.RFC3339))
	var v view
	if err := json.Unmarshal([]byte(text), &v.Entries); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestTold: a moment lists the webhooks whose acceptance had come by then: a revision those before
// the next event, a time those until that time.
func TestTold(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 3, 14, 14, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		at       string
		revision uint64
		told     int
		newest   bool
	}{
		{"", 2, 2, true}, {"2", 2, 2, true}, {"1", 1, 1, false}, {"2026-03-14T14:00:05Z", 1, 0, false}, {"2026-03-14T14:00:06", 1, 1, false},
		{"2026-03-14 14:00:09", 1, 1, false}, {"2026-03-14T15:00:10+01:00", 2, 1, false}, {"2026-03-14T14:00:17", 2, 2, false},
		{"2026-03-14T14:01", 2, 2, false}, {"2099-01-01T00:00", 2, 2, true},
	} {
		v := history(t, began)
		if err := v.travel(c.at, began.Add(time.Hour)); err != nil {
			t.Errorf("%s: %v", c.at, err)
			continue
		}
		if v.At != c.revision || len(v.Then.Accepted) != c.told || v.Newest != c.newest {
			t.Errorf("%q: revision %d, %d told, newest %t; want %+v", c.at, v.At, len(v.Then.Accepted), v.Newest, c)
		}
	}
	for _, at := range []string{"3", "0", "-1", "2026-03-14T13:59:59Z", "14:05", "yesterday"} {
		v := history(t, began)
		if err := v.travel(at, began.Add(time.Hour)); err == nil {
			t.Errorf("%q is taken", at)
		}
	}
}
