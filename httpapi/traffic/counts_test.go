package traffic

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"payledger/domain"
	"payledger/domain/seedtest"
	"payledger/projections/statistics"
)

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

func report(t testing.TB, c *Counts, id domain.AccountID, from, to, now time.Time) Report {
	t.Helper()
	r, err := (&Nodes{Own: c}).Report(t.Context(), id, Period{From: statistics.DayOf(from), To: statistics.DayOf(to), Hourly: true}, now)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestReport checks an answer: it begins at the start of the node and ends now. It has each day and
// hour between, and nothing of other accounts.
func TestReport(t *testing.T) {
	t.Parallel()
	c := New(noon.Add(-90 * time.Minute))
	for i, status := range []int{200, 201, 303, 404, 499, 500, 503} {
		c.Add("a", status, noon.Add(time.Duration(i)*time.Minute), time.Duration(i+1)*time.Millisecond)
	}
	c.Add("b", 200, noon, time.Hour)
	got, err := json.Marshal(report(t, c, "a", noon.AddDate(0, 0, -5), noon.AddDate(0, 0, 1), noon.Add(time.Hour)))
	const counts = `"requests":7,"clientErrors":2,"serverErrors":2,"p50Ms":4.096,"p99Ms":7.168`
	const none = `"requests":0,"clientErrors":0,"serverErrors":0`
	want := `{"since":"2026-03-14T10:30:00.000000Z","allSince":"2026-03-14T10:30:00.000000Z","nodes":1,"silentNodes":0,` + counts + `,"byDay":[{"day":"2026-03-14",` + counts + `}],"byHour":[{"hour":"2026-03-14T10:00:00Z",` + none +
		`},{"hour":"2026-03-14T11:00:00Z",` + none + `},{"hour":"2026-03-14T12:00:00Z",` + counts + `},{"hour":"2026-03-14T13:00:00Z",` + none + `}]}`
	if err != nil || string(got) != want {
		t.Errorf("%s %v, want\n%s", got, err, want)
	}
	if empty := report(t, c, "new", noon, noon, noon); empty.Requests.Requests != 0 || len(empty.ByDay) != 1 || !empty.Since.Equal(c.since) {
		t.Errorf("%+v", empty)
	}
	if earlier := report(t, c, "a", noon.AddDate(0, 0, -9), noon.AddDate(0, 0, -3), noon); len(earlier.ByDay)+len(earlier.ByHour) != 0 {
		t.Errorf("%+v", earlier)
	}
}

// TestAnyTraffic: the counts are those of a recount over the newest 31 days, also when the hours
// have gaps, and when an answer of the hour before comes late.
func TestAnyTraffic(t *testing.T) {
	t.Parallel()
	seedtest.Check(t, func(r *rapid.T) {
		c, now := New(noon), noon
		want := map[statistics.Hour]int64{}
		for range rapid.IntRange(1, 60).Draw(r, "hours") {
			now = now.Add(time.Duration(rapid.IntRange(0, 30).Draw(r, "gap")) * time.Hour)
			for range rapid.IntRange(0, 4).Draw(r, "requests") {
				at := now
				if want[statistics.HourOf(now)-1] > 0 && rapid.Bool().Draw(r, "late") {
					at = at.Add(-time.Hour)
				}
				c.Add("a", 200, at, time.Millisecond)
				want[statistics.HourOf(at)]++
			}
		}
		all, first := int64(0), statistics.HourOf(now)-keptHours+1
		for hour, n := range want {
			if hour >= first {
				all += n
			}
		}
		got := report(t, c, "a", noon, now, now)
		if got.Requests.Requests != all {
			r.Errorf("%d requests, want %d", got.Requests.Requests, all)
		}
		days := int64(0)
		for _, of := range got.ByDay {
			days += of.Requests.Requests
		}
		for _, of := range got.ByHour {
			if of.Requests.Requests != want[of.Hour] {
				r.Errorf("%s: %d requests, want %d", of.Hour, of.Requests.Requests, want[of.Hour])
			}
		}
		if days != all || len(got.ByHour) > keptHours {
			r.Errorf("the days have %d requests of %d; %d hours", days, all, len(got.ByHour))
		}
	})
}

// TestBounds: an account keeps 31 days, and a node 256 accounts. The account without requests for
// the longest time is forgotten. Its counts begin with the report, or when it comes back.
func TestBounds(t *testing.T) {
	t.Parallel()
	c := New(noon)
	now := noon
	for range keptHours + 50 {
		c.Add("busy", 200, now, time.Millisecond)
		now = now.Add(time.Hour)
	}
	found, _ := c.accounts.Load(domain.AccountID("busy"))
	if n := len(found.(*account).past); n > keptHours {
		t.Errorf("%d hours are kept", n)
	}
	c.Add("quiet", 200, noon, time.Millisecond)
	for n := range keptAccounts {
		c.Add(domain.AccountID(fmt.Sprint(n)), 200, now, time.Millisecond)
	}
	accounts := 0
	c.accounts.Range(func(any, any) bool { accounts++; return true })
	if _, known := c.accounts.Load(domain.AccountID("quiet")); known || accounts != keptAccounts {
		t.Errorf("%d accounts; the quiet one is known: %v", accounts, known)
	}
	if r := report(t, c, "quiet", noon, now, now); r.Requests.Requests != 0 || !r.Since.Equal(now) || len(r.ByDay) != 1 {
		t.Errorf("forgotten: %+v", r)
	}
	c.Add("quiet", 200, now, time.Millisecond)
	if r := report(t, c, "quiet", noon, now, now); r.Requests.Requests != 1 || !r.Since.Equal(now) {
		t.Errorf("%+v", r)
	}
}

// TestAtOnce: requests from several goroutines are all counted, also when an hour begins meanwhile.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	c := New(noon)
	var all sync.WaitGroup
	const routines, each = 4, 500
	for range routines {
		all.Go(func() {
			for n := range each {
				c.Add(domain.AccountID(fmt.Sprint(n%3)), 200, noon.Add(time.Duration(n/250)*time.Hour), time.Millisecond)
			}
		})
	}
	all.Wait()
	n := int64(0)
	for _, id := range []domain.AccountID{"0", "1", "2"} {
		n += report(t, c, id, noon, noon, noon.Add(5*time.Hour)).Requests.Requests
	}
	if n != routines*each {
		t.Errorf("%d requests are counted", n)
	}
}

// BenchmarkAdd counts requests of one account, from one goroutine and from several.
func BenchmarkAdd(b *testing.B) {
	b.Run("one", func(b *testing.B) {
		c := New(noon)
		for b.Loop() {
			c.Add("6etnp6rapbqqp8m849ga1ph6tc", 200, noon, 3*time.Millisecond)
		}
	})
	b.Run("parallel", func(b *testing.B) {
		c := New(noon)
		b.RunParallel(func(next *testing.PB) {
			for next.Next() {
				c.Add("6etnp6rapbqqp8m849ga1ph6tc", 200, noon, 3*time.Millisecond)
			}
		})
	})
}
