package export_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"payledger/eventstore/eventstoretest"
	"payledger/projections/deliveries"
	"payledger/projections/export"
	"payledger/projections/paymentjson"
)

// sent is the stream of random delivery records in memory. A delivery is planned, and then tried
// until it succeeds or is exhausted.
type sent struct {
	all    []deliveries.Recorded
	newest map[string]deliveries.Recorded
	random *rand.Rand
}

func newSent(seed uint64) *sent {
	return &sent{newest: map[string]deliveries.Recorded{}, random: rand.New(rand.NewPCG(seed, 2))}
}

func (s *sent) read(_ context.Context, after uint64, handle func(deliveries.Recorded) error) error {
	for _, d := range s.all {
		if d.Place <= after {
			continue
		}
		if err := handle(d); err != nil {
			return err
		}
	}
	return nil
}

// grow appends n records. Places have gaps, as those of a log with several accounts.
func (s *sent) grow(n int) {
	for range n {
		at := paymentjson.Time{Time: start.Add(time.Duration(len(s.all)) * time.Minute)}
		d := s.newest[fmt.Sprintf("delivery-%04d", s.random.IntN(len(s.newest)+1))]
		switch {
		case d.ID == "" || d.Outcome == "SUCCEEDED" || d.Outcome == "EXHAUSTED":
			number := len(s.newest)
			d = deliveries.Recorded{
				ID: fmt.Sprintf("delivery-%04d", number), Account: "acct", Endpoint: "shop", EventType: "PAYMENT.STATUS",
				EventID: fmt.Sprintf("event-%d", number+1), Aggregate: []string{"payment", "dispute", "workflow_run"}[number%3],
				AggregateID: fmt.Sprintf("subject-%d", number), Outcome: "PLANNED", PlannedAt: at,
			}
		case s.random.IntN(2) == 0:
			d.Attempts, d.Outcome, d.LastStatus, d.LastFailure = d.Attempts+1, "SUCCEEDED", 200, ""
			d.LastAttemptAt, d.DeliveredAt, d.NextAt = at, at, paymentjson.Time{}
		default:
			d.Attempts, d.FailedAttempts, d.Outcome, d.LastStatus, d.LastFailure = d.Attempts+1, d.FailedAttempts+1, "FAILED", 0, "TIMEOUT"
			d.LastAttemptAt, d.NextAt = at, paymentjson.Time{Time: at.Add(time.Minute)}
			if d.Attempts == 6 {
				d.Outcome, d.NextAt = "EXHAUSTED", paymentjson.Time{}
			}
		}
		if d.Attempts > 0 && d.FirstAttemptAt.IsZero() {
			d.FirstAttemptAt = at
		}
		d.Place, d.RecordedAt = uint64(len(s.all)+1)*3, at
		s.all, s.newest[d.ID] = append(s.all, d), d
	}
}

// TestDeliveries checks that increments plus the earlier export have the deliveries of a full
// export, in every format: also increments in which deliveries changed and no event is new, and
// those without a changed delivery.
func TestDeliveries(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	const events, records = 60, 6_000
	f, s := newFeed(7), newSent(5)
	f.grow(events)
	s.grow(records)
	whole := target(t, export.SQLite)
	summary := run(t, export.Config{Source: f, Deliveries: s.read, Format: export.SQLite, Out: whole})
	expected := newest("deliveries", readBack(t, export.SQLite, whole, "deliveries"))
	if summary.Deliveries != uint64(len(s.newest)) || len(expected) != len(s.newest) {
		t.Fatalf("%d rows, %d of the summary, expected %d", len(expected), summary.Deliveries, len(s.newest))
	}
	for _, format := range append(folders, export.SQLite) {
		t.Run(string(format), func(t *testing.T) {
			t.Parallel()
			out := target(t, format)
			grown, sending := newFeed(7), newSent(5)
			for i, step := range []struct{ events, records int }{{40, 2_000}, {10, 0}, {0, 1_000}, {0, 2_500}, {0, 0}, {10, 500}} {
				c := export.Config{Source: grown, Deliveries: sending.read, Format: format, Out: out}
				if done := uint64(len(grown.all)); i > 0 {
					c.After = &done
				}
				before := len(sending.all)
				grown.grow(step.events)
				sending.grow(step.records)
				changed := map[string]bool{}
				for _, d := range sending.all[before:] {
					changed[d.ID] = true
				}
				if got := run(t, c); got.Events != uint64(step.events) || got.Deliveries != uint64(len(changed)) {
					t.Errorf("step %d: %d events and %d deliveries, expected %d and %d", i, got.Events, got.Deliveries, step.events, len(changed))
				}
			}
			got := newest("deliveries", readBack(t, format, out, "deliveries"))
			if !slices.Equal(got, expected) {
				t.Errorf("%d rows, expected %d; first difference:\n%s", len(got), len(expected), firstDifference(got, expected))
			}
		})
	}
}

// TestDeliveriesRow checks every column of two rows: a webhook that arrived at the second attempt,
// and a webhook without an attempt.
func TestDeliveriesRow(t *testing.T) {
	t.Parallel()
	at := func(minutes int) paymentjson.Time {
		return paymentjson.Time{Time: start.Add(time.Duration(minutes) * time.Minute)}
	}
	all := []deliveries.Recorded{{
		Place: 7, RecordedAt: at(9), ID: "one", Account: "acct", Endpoint: "shop", EventType: "DISPUTE.OPENED", EventID: "event", Aggregate: "dispute", AggregateID: "d-1",
		Outcome: "SUCCEEDED", PlannedAt: at(1), Attempts: 2, FailedAttempts: 1, FirstAttemptAt: at(2), LastAttemptAt: at(3), DeliveredAt: at(4), LastStatus: 204,
	}, {
		Place: 8, RecordedAt: at(9), ID: "two", Account: "acct", Endpoint: "shop", EventType: "PAYMENT.REFUND", EventID: "event", Aggregate: "payment", AggregateID: "p-1",
		Outcome: "PLANNED", PlannedAt: at(1),
	}}
	for _, format := range append(folders, export.SQLite) {
		out := target(t, format)
		run(t, export.Config{Source: newFeed(1), Deliveries: (&sent{all: all}).read, Format: format, Out: out})
		got := newest("deliveries", readBack(t, format, out, "deliveries"))
		expected := []string{
			"account_id=acct;attempts=0;endpoint_id=shop;event_id=event;event_type=PAYMENT.REFUND;failed_attempts=0;id=two;payment_id=p-1;place=8;" +
				"planned_at=2026-03-01T00:01:00.000000Z;status=PLANNED;",
			"account_id=acct;attempts=2;delivered_at=2026-03-01T00:04:00.000000Z;dispute_id=d-1;endpoint_id=shop;event_id=event;event_type=DISPUTE.OPENED;" +
				"failed_attempts=1;first_attempt_at=2026-03-01T00:02:00.000000Z;id=one;last_attempt_at=2026-03-01T00:03:00.000000Z;last_status_code=204;place=7;" +
				"planned_at=2026-03-01T00:01:00.000000Z;status=SUCCEEDED;",
		}
		if !slices.Equal(got, expected) {
			t.Errorf("%s: %q\nexpected %q", format, got, expected)
		}
	}
}

// TestDeliveriesWindow checks that an export of a limited time has the deliveries with a record in
// it, as they were at its end.
func TestDeliveriesWindow(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	f, s := newFeed(7), newSent(5)
	f.grow(500)
	s.grow(3_000)
	window := export.Window{From: s.all[1_000].RecordedAt.Time, To: s.all[1_999].RecordedAt.Time}
	asOf, within := map[string]uint64{}, map[string]bool{}
	for i, d := range s.all[:2_000] {
		asOf[d.ID] = d.Place
		within[d.ID] = within[d.ID] || i >= 1_000
	}
	for _, format := range append(folders, export.SQLite) {
		out := target(t, format)
		run(t, export.Config{Source: f, Deliveries: s.read, Format: format, Out: out, Window: window})
		missing := maps.Clone(within)
		for _, row := range readBack(t, format, out, "deliveries") {
			id := row["id"].(string)
			if !missing[id] || row["place"] != int64(asOf[id]) {
				t.Fatalf("%s: %v, expected the record at %d", format, row, asOf[id])
			}
			delete(missing, id)
		}
		for id, is := range missing {
			if is {
				t.Errorf("%s: %s is missing", format, id)
			}
		}
	}
}

// TestDeliveriesElsewhere checks that an export behind a position into another folder has all
// deliveries: the place that the earlier export reached is known in its own folder only.
func TestDeliveriesElsewhere(t *testing.T) {
	t.Parallel()
	f, s := newFeed(7), newSent(5)
	f.grow(50)
	s.grow(500)
	after := uint64(40)
	out := filepath.Join(t.TempDir(), "another")
	run(t, export.Config{Source: f, Deliveries: s.read, Format: export.CSV, Out: out, After: &after})
	if rows := readBack(t, export.CSV, out, "deliveries"); len(rows) != len(s.newest) {
		t.Errorf("%d deliveries, expected %d", len(rows), len(s.newest))
	}
}

// TestDeliveriesWithoutChange checks that an export of a limited time has the deliveries that were
// planned, tried or ended in it. A record that names another node as the sender does not count, and
// the repeated record of a delivery whose earlier records are dropped neither.
func TestDeliveriesWithoutChange(t *testing.T) {
	t.Parallel()
	minute := func(n int) paymentjson.Time { return paymentjson.Time{Time: start.Add(time.Duration(n) * time.Minute)} }
	s := &sent{}
	record := func(at int, id, outcome string, planned, tried, attempts int) {
		d := deliveries.Recorded{
			Place: uint64(len(s.all) + 1), RecordedAt: minute(at), ID: id, Account: "acct", Endpoint: "shop", EventType: "PAYMENT.STATUS",
			EventID: "event-1", Aggregate: "payment", AggregateID: "p", Outcome: outcome, PlannedAt: minute(planned), Attempts: attempts,
		}
		if attempts > 0 {
			d.FirstAttemptAt, d.LastAttemptAt = minute(tried), minute(tried)
		}
		s.all = append(s.all, d)
	}
	record(1, "taken over", "PLANNED", 1, 0, 0)
	record(2, "taken over and tried", "PLANNED", 2, 0, 0)
	record(3, "tried before", "FAILED", 1, 3, 1)
	record(11, "taken over", "PLANNED", 1, 0, 0)
	record(12, "taken over and tried", "PLANNED", 2, 0, 0)
	record(13, "taken over and tried", "SUCCEEDED", 2, 13, 1)
	record(14, "tried before", "FAILED", 1, 3, 1)
	record(15, "repeated", "FAILED", 1, 2, 1)
	record(16, "planned", "PLANNED", 16, 0, 0)
	record(17, "cancelled", "CANCELLED", 1, 0, 0)
	record(18, "tried first", "FAILED", 1, 17, 1)
	record(30, "planned", "SUCCEEDED", 16, 30, 1)
	f := newFeed(7)
	f.grow(5)
	for _, format := range append(folders, export.SQLite) {
		out := target(t, format)
		run(t, export.Config{Source: f, Deliveries: s.read, Format: format, Out: out, Window: export.Window{From: minute(10).Time, To: minute(20).Time}})
		var got []string
		for _, row := range readBack(t, format, out, "deliveries") {
			got = append(got, fmt.Sprint(row["id"], " ", row["status"]))
		}
		slices.Sort(got)
		if want := []string{"cancelled CANCELLED", "planned PLANNED", "taken over and tried SUCCEEDED", "tried first FAILED"}; !slices.Equal(got, want) {
			t.Errorf("%s: %q, expected %q", format, got, want)
		}
	}
}

// TestDeliveriesRestored checks that an export is not continued with a ledger that has another
// record at the place where it ends; a record that retention has dropped is no other one.
func TestDeliveriesRestored(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*sent)
		says   string
	}{
		"the same":             {func(*sent) {}, ""},
		"the record dropped":   {func(s *sent) { s.all = append(s.all[:0:0], s.all[60:]...) }, ""},
		"another delivery":     {func(s *sent) { s.all[49].ID = "other" }, "place 150 that the ledger does not have: was an older back-up restored"},
		"recorded another day": {func(s *sent) { s.all[49].RecordedAt.Time = start }, "place 150 that the ledger does not have"},
	} {
		for _, format := range []export.Format{export.CSV, export.SQLite} {
			f, s, out := newFeed(7), newSent(5), target(t, format)
			f.grow(20)
			s.grow(50)
			run(t, export.Config{Source: f, Deliveries: s.read, Format: format, Out: out})
			f.grow(5)
			s.grow(50)
			c.change(s)
			done := uint64(20)
			_, err := export.Run(t.Context(), export.Config{Source: f, Deliveries: s.read, Format: format, Out: out, After: &done})
			if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("%s, %s: %v", name, format, err)
			}
		}
	}
}
