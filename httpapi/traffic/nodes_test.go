package traffic

import (
	"context"
	"testing"
	"time"

	"payledger/projections/statistics"
)

// TestNodes: a report adds the counts of all nodes up, with the latencies of all answers, and has
// the number of nodes that did not answer.
func TestNodes(t *testing.T) {
	t.Parallel()
	own, other := New(noon.Add(-time.Hour)), New(noon.Add(-49*time.Hour))
	for n := range 99 {
		own.Add("a", 200, noon.Add(time.Duration(n)*time.Second), time.Millisecond)
	}
	other.Add("a", 404, noon.Add(-48*time.Hour), time.Millisecond)
	other.Add("a", 503, noon, time.Second)
	other.Add("b", 200, noon, time.Millisecond)
	now := noon.Add(time.Hour)
	period := Period{From: statistics.DayOf(noon.AddDate(0, 0, -9)), To: statistics.DayOf(noon), Hourly: true}
	answers := func(_ context.Context, asked []byte) ([][]byte, int) {
		return [][]byte{other.Answer(asked, now), {}, []byte("\xff")}, 2
	}
	got, err := (&Nodes{own, answers}).Report(t.Context(), "a", period, now)
	if err != nil {
		t.Fatal(err)
	}
	if got.Nodes != 2 || got.Silent != 4 || !got.Since.Equal(other.since) || !got.AllSince.Equal(own.since) {
		t.Errorf("%d nodes since %v, all since %v, %d silent", got.Nodes, got.Since, got.AllSince, got.Silent)
	}
	if r := got.Requests; r.Requests != 101 || r.ClientErrors != 1 || r.ServerErrors != 1 || *r.P50 > 2 || *r.P99 > 2 {
		t.Errorf("the requests are %+v", r)
	}
	if len(got.ByDay) != 3 || got.ByDay[0].Requests.Requests != 1 || got.ByDay[2].Requests.Requests != 100 || *got.ByDay[2].P99 > 2 {
		t.Errorf("the days are %+v", got.ByDay)
	}
	if hour := got.ByHour[len(got.ByHour)-2]; hour.Requests.Requests != 100 || hour.ServerErrors != 1 {
		t.Errorf("the hour is %+v", hour)
	}
}

// TestClockAhead: requests of a node whose clock is in the next hour, and the next day, are in the
// rows of the report as in its total.
func TestClockAhead(t *testing.T) {
	t.Parallel()
	now := noon.Add(12*time.Hour - time.Second) // the last second of a day
	own, other := New(noon), New(noon)
	own.Add("a", 200, now, time.Millisecond)
	other.Add("a", 200, now.Add(time.Second), time.Millisecond)
	answers := func(_ context.Context, asked []byte) ([][]byte, int) {
		return [][]byte{other.Answer(asked, now.Add(time.Second))}, 0
	}
	for to, want := range map[time.Time]int64{now: 1, now.Add(time.Second): 2} {
		period := Period{From: statistics.DayOf(noon), To: statistics.DayOf(to), Hourly: true}
		got, err := (&Nodes{own, answers}).Report(t.Context(), "a", period, now)
		if err != nil {
			t.Fatal(err)
		}
		var days, hours int64
		for _, d := range got.ByDay {
			days += d.Requests.Requests
		}
		for _, h := range got.ByHour {
			hours += h.Requests.Requests
		}
		if total := got.Requests.Requests; total != want || days != want || hours != want {
			t.Errorf("until %v: %d requests, %d in the days, %d in the hours", to, total, days, hours)
		}
	}
}

// FuzzPart: parsePart reads or refuses any bytes. If it reads a part, it reads what pack writes of
// the part as the same part.
func FuzzPart(f *testing.F) {
	c := New(noon)
	c.Add("a", 200, noon, time.Millisecond)
	of, err := c.part("a", Period{statistics.DayOf(noon), statistics.DayOf(noon), false}, noon)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(of.pack())
	f.Add([]byte{0, 1, 200})
	f.Fuzz(func(t *testing.T, data []byte) {
		if read, err := parsePart(data); err == nil {
			again, err := parsePart(read.pack())
			if err != nil || len(again.hours) != len(read.hours) || !again.since.Equal(read.since) {
				t.Errorf("%x is read as %+v, and then as %+v %v", data, read, again, err)
			}
		}
	})
}
