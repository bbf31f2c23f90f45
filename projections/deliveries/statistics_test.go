package deliveries

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"payledger/domain"
	"payledger/domain/seedtest"
	"payledger/projections/durations"
	"payledger/projections/statistics"
)

// counted checks that the counts are those of the rows.
func counted(t testing.TB, x *Index) {
	t.Helper()
	must(t, x.WithRows(t.Context(), func(file *sql.DB) error {
		return CheckCounts(t.Context(), file, func(difference string) error { t.Error(difference); return nil })
	}))
}

var states = []string{"PLANNED", "FAILED", "SUCCEEDED", "EXHAUSTED", "CANCELLED"}

// randomRecord draws a record of one of a few deliveries, as its newest record may be.
func randomRecord(r *rapid.T, seq uint64) Row {
	n := rapid.IntRange(0, 11).Draw(r, "delivery")
	d := row(n, seq, rapid.SampledFrom(states).Draw(r, "status"))
	d.PlannedAt = start.Add(time.Duration(n*7) * time.Hour)
	d.Account = domain.AccountID(fmt.Sprint("acct", 1+n%5/4))
	if d.SucceededBy, d.SucceededAt = 0, (time.Time{}); d.Status == "SUCCEEDED" {
		d.SucceededBy = rapid.IntRange(1, 3).Draw(r, "attempt")
		d.SucceededAt = d.PlannedAt.Add(time.Duration(rapid.Int64Range(-1000, 1<<40).Draw(r, "micros")) * time.Microsecond)
	}
	return d
}

// recounted counts the newest records of an account's deliveries that were planned in a period.
func recounted(rows map[string]Row, account domain.AccountID, p Period) map[string]int64 {
	all := map[string]int64{}
	for _, r := range rows {
		day := statistics.DayOf(r.PlannedAt)
		if r.Account != account || day < p.From || day > p.To {
			continue
		}
		took := durations.BucketOf(r.SucceededAt.Sub(r.PlannedAt)).Limit()
		for _, of := range []string{"", day.String(), statistics.HourOf(r.PlannedAt).String(), string(r.Endpoint)} {
			all[of+" deliveries"]++
			all[of+" "+r.Status]++
			if r.SucceededBy == 1 {
				all[of+" first"]++
			}
			if r.SucceededBy > 0 {
				all[of+" p100"] = max(all[of+" p100"], took.Microseconds())
			}
		}
		if r.Status == "SUCCEEDED" {
			all[day.String()+" "+string(r.Endpoint)]++
		}
	}
	return all
}

// reported returns the same numbers of a report.
func reported(s Statistics) map[string]int64 {
	all := map[string]int64{}
	add := func(of string, c Counts) {
		for name, n := range map[string]int64{
			"deliveries": c.Deliveries, "PLANNED": c.Waiting, "FAILED": c.Retrying, "SUCCEEDED": c.Succeeded, "EXHAUSTED": c.Exhausted,
			"CANCELLED": c.Cancelled, "first": c.First,
		} {
			if n != 0 {
				all[of+" "+name] = n
			}
		}
		if c.P99 != nil { // of so few it is the slowest
			all[of+" p100"] = int64(*c.P99*1000 + 0.5)
		}
	}
	add("", s.Counts)
	for _, of := range s.ByEndpoint {
		add(string(of.Endpoint), of.Counts)
	}
	for _, of := range s.ByHour {
		add(of.Hour.String(), of.Counts)
	}
	for _, of := range s.ByDay {
		add(of.Day.String(), of.Counts)
		for _, endpoint := range of.Endpoints {
			if endpoint.Succeeded > 0 {
				all[of.Day.String()+" "+string(endpoint.Endpoint)] = endpoint.Succeeded
			}
		}
	}
	return all
}

// TestStatisticsOfAnyRecords: after any records in batches of any size, also read again, with
// restarts, failed transactions and a rebuild between, the counts are those of a recount of the
// newest records.
func TestStatisticsOfAnyRecords(t *testing.T) {
	t.Parallel()
	seedtest.Check(t, func(r *rapid.T) {
		ctx, dir := context.Background(), t.TempDir()
		x := openIndex(t, dir)
		defer func() { must(t, x.Close()) }()
		s := &stream{first: 1}
		newest := map[string]Row{}
		for steps := rapid.IntRange(1, 30).Draw(r, "steps"); steps > 0; steps-- {
			switch kind := rapid.IntRange(0, 9).Draw(r, "step"); {
			case kind == 0:
				must(t, x.Close())
				x = openIndex(t, dir)
			case kind == 1 && len(s.rows) > 0:
				must(t, x.Rebuild(ctx, s.source(), nil))
			case kind == 2 && len(s.rows) > 0: // the records are read again
				again := s.rows[rapid.IntRange(0, len(s.rows)-1).Draw(r, "from"):]
				must(t, x.Apply(ctx, again, markAt(again[len(again)-1].Seq)))
			case kind == 3:
				failed := errors.New("failed")
				err := x.transact(ctx, func(ctx context.Context) error {
					lost := randomRecord(r, uint64(len(s.rows)+1))
					return errors.Join(x.write(ctx, &lost), x.counter.save(ctx), failed)
				})
				if !errors.Is(err, failed) {
					t.Fatal(err)
				}
			case kind == 4 && len(s.rows) > 0: // of these only the index knows
				s.first = uint64(rapid.IntRange(int(s.first), len(s.rows)).Draw(r, "dropped"))
			default:
				var batch []Row
				for range rapid.IntRange(1, 8).Draw(r, "batch") {
					one := randomRecord(r, uint64(len(s.rows)+len(batch)+1))
					newest[one.ID] = one
					batch = append(batch, one)
				}
				s.add(x, t, batch...)
			}
		}
		counted(t, x)
		p := Period{From: statistics.DayOf(start), To: statistics.DayOf(start) + 2, Hourly: true}
		for _, account := range []domain.AccountID{"acct1", "acct2"} {
			report, err := x.Statistics(ctx, account, p)
			must(t, err)
			if got, want := reported(report), recounted(newest, account, p); !reflect.DeepEqual(got, want) {
				r.Fatalf("the report has\n%v\na recount has\n%v", got, want)
			}
		}
	})
}

// TestStatistics: the answer has each day and hour, the rates by endpoint with the worst first, and
// the time to success of half of the deliveries.
func TestStatistics(t *testing.T) {
	x := openIndex(t, t.TempDir())
	defer func() { must(t, x.Close()) }()
	var rows []Row
	for n := range 12 {
		rows = append(rows, row(n, uint64(n+1), map[bool]string{true: "SUCCEEDED", false: states[n%5]}[n%3 == 0]))
	}
	late := row(12, 13, "SUCCEEDED")
	late.PlannedAt = start.AddDate(0, 0, 1)
	late.SucceededAt, late.SucceededBy = late.PlannedAt.Add(time.Minute), 3
	must(t, x.Apply(t.Context(), append(rows, late), markAt(13)))
	day := statistics.DayOf(start)
	s, err := x.Statistics(t.Context(), mine, Period{From: day, To: day + 1, Hourly: true})
	must(t, err)
	if len(s.ByDay) != 2 || len(s.ByHour) != 48 || s.ByDay[1].Deliveries != 1 || s.ByHour[9].Deliveries != 12 {
		t.Errorf("%d days, %d hours", len(s.ByDay), len(s.ByHour))
	}
	for want, part := range map[string]any{
		`{"deliveries":13,"succeeded":7,"firstAttempt":6,"retrying":2,"exhausted":1,"cancelled":1,"waiting":2,"rate":0.7,"p50Ms":1.28,"p99Ms":62914.56}`: s.Counts,
		`[{"endpointId":"e2","deliveries":4,"succeeded":1,"firstAttempt":1,"retrying":1,"exhausted":1,"cancelled":0,"waiting":1,"rate":0.3333,"p50Ms":1.28,"p99Ms":1.28},` +
			`{"endpointId":"e1","deliveries":4,"succeeded":1,"firstAttempt":1,"retrying":1,"exhausted":0,"cancelled":1,"waiting":1,"rate":0.5,"p50Ms":1.28,"p99Ms":1.28},` +
			`{"endpointId":"e0","deliveries":5,"succeeded":5,"firstAttempt":4,"retrying":0,"exhausted":0,"cancelled":0,"waiting":0,"rate":1,"p50Ms":1.28,"p99Ms":62914.56}]`: s.ByEndpoint,
		`{"day":"2026-03-15","deliveries":1,"succeeded":1,"firstAttempt":0,"retrying":0,"exhausted":0,"cancelled":0,"waiting":0,"rate":1,"p50Ms":62914.56,"p99Ms":62914.56,` +
			`"endpoints":[{"endpointId":"e0","deliveries":1,"succeeded":1,"rate":1}]}`: s.ByDay[1],
	} {
		if got, err := json.Marshal(part); err != nil || string(got) != want {
			t.Errorf("%s %v, want\n%s", got, err, want)
		}
	}
	empty, err := x.Statistics(t.Context(), "acct2", Period{From: day, To: day})
	must(t, err)
	if text, err := json.Marshal(empty); err != nil || string(text) != `{"deliveries":0,"succeeded":0,"firstAttempt":0,"retrying":0,"exhausted":0,"cancelled":0,"waiting":0,"byEndpoint":[],`+
		`"byDay":[{"day":"2026-03-14","deliveries":0,"succeeded":0,"firstAttempt":0,"retrying":0,"exhausted":0,"cancelled":0,"waiting":0,"endpoints":[]}]}` {
		t.Errorf("%s %v", text, err)
	}
}
