package paymentpages

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"payledger/httpapi/dashboard/frame"
)

// replayed is a payment that was authorized at 0 s and captured at 10 s. The webhook of the
// authorization took from 5 to 6 s at one endpoint, and from 8 to 17 s at another.
func replayed(t *testing.T, began time.Time) view {
	t.Helper()
	text := fmt.Sprintf(`[
		{"revision":1,"time":%q,"type":"payment.authorized","payment":{"status":"AUTHORIZED"},"webhooks":[
			{"endpointId":"fast","eventType":"PAYMENT.STATUS","attempts":[{"startedAt":%q,"durationMs":1000}]},
			{"endpointId":"slow","eventType":"PAYMENT.STATUS","attempts":[{"startedAt":%q,"durationMs":9000}]}]},
		{"revision":2,"time":%q,"type":"payment.captured","payment":{"status":"SETTLED"}}]`,
		began.Format(time.RFC3339), began.Add(5*time.Second).Format(time.RFC3339), began.Add(8*time.Second).Format(time.RFC3339), began.Add(10*time.Second).Format(time.RFC3339))
	v := view{Revisions: 2}
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
		{"2026-03-14T14:01", 2, 2, false}, {"2026-03-14T15:00", 2, 2, true}, {"14 Mar 2026 14:00:09 UTC", 1, 1, false},
		{"2026-03-14T14:00:09.999999", 1, 1, false}, {"2026-03-14T14:00", 2, 2, false},
	} {
		v := replayed(t, began)
		if err := v.travel(c.at, began.Add(time.Hour)); err != nil {
			t.Errorf("%s: %v", c.at, err)
			continue
		}
		later := 0
		for _, w := range v.Entries[0].Webhooks {
			if w.Later != slices.ContainsFunc(w.Attempts, func(a attempt) bool { return a.Later }) {
				t.Errorf("%q: %+v", c.at, w)
			}
			if w.Later {
				later++
			}
		}
		if len(v.Then.Untold) != 2-c.told || later != 2-c.told {
			t.Errorf("%q: %d not told, %d later, %d told", c.at, len(v.Then.Untold), later, c.told)
		}
		if v.At != c.revision || len(v.Then.Accepted) != c.told || v.Newest != c.newest {
			t.Errorf("%q: revision %d, %d told, newest %t; want %+v", c.at, v.At, len(v.Then.Accepted), v.Newest, c)
		}
	}
	for _, at := range []string{"3", "0", "-1", "2026-03-14T13:59:59Z", "14:05", "yesterday", "2099-01-01T00:00", "2026-03-14T15:02"} {
		v := replayed(t, began)
		if err := v.travel(at, began.Add(time.Hour)); err == nil {
			t.Errorf("%q is taken", at)
		}
	}
}

// TestUntold: a moment lists the webhooks that were tried by then and not accepted, with the last
// answer of then.
func TestUntold(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 3, 14, 14, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
	made := func() view {
		return view{Revisions: 1, Entries: []entry{{Revision: 1, Time: began, Payment: json.RawMessage(`{"status":"AUTHORIZED"}`), Webhooks: []hook{
			{EndpointID: "a", Attempts: []attempt{{Number: 1, StartedAt: at(1), StatusCode: 500, Failure: "STATUS"}, {Number: 2, StartedAt: at(6), StatusCode: 503, Failure: "STATUS"}, {Number: 3, StartedAt: at(20), StatusCode: 200}}},
			{EndpointID: "b", Outcome: "CANCELLED"}, {EndpointID: "c", Dropped: true},
		}}}}
	}
	for _, c := range []struct {
		at               string
		untold           int
		tries, last      int
		cancelled, later bool
	}{
		{"2026-03-14T14:00:00", 2, 0, 0, false, true}, {"2026-03-14T14:00:03", 2, 1, 500, false, true},
		{"2026-03-14T14:00:10", 2, 2, 503, false, true}, {"", 1, 0, 0, true, false},
	} {
		v := made()
		if err := v.travel(c.at, at(3600)); err != nil {
			t.Fatal(err)
		}
		if len(v.Then.Untold) != c.untold || v.Entries[0].Webhooks[0].Later != c.later {
			t.Errorf("%q: %+v", c.at, v.Then.Untold)
			continue
		}
		if one := v.Then.Untold[0]; one.Tries != c.tries || one.Last.StatusCode != c.last || one.Cancelled != c.cancelled || one.Status != "AUTHORIZED" {
			t.Errorf("%q: %+v", c.at, one)
		}
	}
}

// TestTimesThatGoBack: the events of a payment may come from nodes with different clocks. The page
// shows the last event at or before a time.
func TestTimesThatGoBack(t *testing.T) {
	second := func(n int) time.Time { return time.Date(2026, 3, 14, 9, 26, n, 0, time.UTC) }
	for s, want := range map[int]uint64{14: 0, 15: 2, 19: 2, 25: 4, 29: 4, 31: 5} {
		v := view{Entries: []entry{
			{Revision: 1, Time: second(20)}, {Revision: 2, Time: second(15)}, {Revision: 3, Time: second(30)}, {Revision: 4, Time: second(25)}, {Revision: 5, Time: second(31)},
		}}
		if err := v.atTime(second(s).Format(fieldTime), second(59)); v.At != want || (err != nil) != (want == 0) {
			t.Errorf("at second %d: revision %d, %v", s, v.At, err)
		}
	}
}

// TestShownSeconds: the page shows times cut to seconds, so the time of an event as the page shows
// it includes the event: at the second, and at the minute. A time with a fraction is exact.
func TestShownSeconds(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 3, 14, 14, 0, 3, 400_000_000, time.UTC)
	for at, want := range map[string]uint64{
		began.Format(fieldTime): 1, began.Add(10 * time.Second).Format(fieldTime): 2, began.Add(9 * time.Second).Format(fieldTime): 1,
		began.Add(10 * time.Second).Format(time.RFC3339): 2, "2026-03-14T14:00": 2, "2026-03-14T14:00:13.399": 1, "2026-03-14T14:00:13.4": 2,
	} {
		v := view{Entries: []entry{
			{Revision: 1, Time: began, Payment: json.RawMessage(`{"status":"AUTHORIZED"}`)}, {Revision: 2, Time: began.Add(10 * time.Second), Payment: json.RawMessage(`{"status":"SETTLED"}`)},
		}, Revisions: 2}
		if err := v.travel(at, began.Add(time.Hour)); err != nil || v.At != want {
			t.Errorf("%s: revision %d, %v; want %d", at, v.At, err, want)
			continue
		}
		if again := v.Moment(); want == 2 && !strings.Contains(at, ".") && at != "2026-03-14T14:00" && again != began.Add(10*time.Second).Format(fieldTime) {
			t.Errorf("%s: the field shows %s", at, again)
		}
	}
	v := view{Entries: []entry{{Revision: 1, Time: began}}}
	if err := v.atTime("2026-03-14T14:00:02", began.Add(time.Hour)); err == nil {
		t.Error("a second before the payment is taken")
	}
}

// TestTimesInLowerCase: the letters of a time may be lower case, on pages, too (D22.8).
func TestTimesInLowerCase(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"2026-03-14T09:30:00Z", "2026-03-14T10:30:00+01:00", "2026-03-14T09:30:00", "2026-03-14T09:30"} {
		want, err := parseTime(text)
		if got, lowerErr := parseTime(strings.ToLower(text)); err != nil || lowerErr != nil || !got.Equal(want) {
			t.Errorf("%s is %s, %v; in lower case %s, %v", text, want, err, got, lowerErr)
		}
	}
}

// TestFirstEventOfPart: a page without its moment names the time of the first event only if it has
// that event: a long history is read in parts.
func TestFirstEventOfPart(t *testing.T) {
	t.Parallel()
	for first, named := range map[uint64]bool{1: true, 101: false} {
		v := view{Entries: []entry{{Revision: first, Time: time.Date(2026, 3, 14, 14, 0, 0, 0, time.UTC)}}}
		visit, page := visitOf(t, "/", nil, time.Now)
		if err := v.nowhere(visit, &frame.Failure{Status: http.StatusNotFound}); err != nil {
			t.Fatal(err)
		}
		if text := page.Body.String(); page.Code != http.StatusNotFound || !strings.Contains(text, "2026-03-14T14:00:00") || strings.Contains(text, "the time of the first event") != named {
			t.Errorf("from revision %d: %d %s", first, page.Code, text)
		}
	}
}
