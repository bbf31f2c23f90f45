package deliveries

import (
	"context"
	"reflect"
	"strings"
	"testing"
)

// TestBacklog checks that waiting deliveries of all accounts are counted, with the oldest, and
// finished ones are not. The count is read from an index, so finished deliveries cost nothing.
func TestBacklog(t *testing.T) {
	x := openIndex(t, t.TempDir())
	defer func() { must(t, x.Close()) }()
	ctx := context.Background()
	var rows []Row
	for n, status := range []string{"SUCCEEDED", "FAILED", "PLANNED", "EXHAUSTED", "CANCELLED", "FAILED", "PLANNED", "FAILED"} {
		r := row(n, uint64(n+1), status)
		if n == 5 {
			r.Account = "acct2"
		}
		rows = append(rows, r)
	}
	must(t, x.Apply(ctx, rows, markAt(8)))
	check := func(want []Backlog) {
		t.Helper()
		if got, err := x.Backlog(ctx); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v %v, want %+v", got, err, want)
		}
	}
	check([]Backlog{{"FAILED", 3, rows[1].PlannedAt}, {"PLANNED", 2, rows[2].PlannedAt}})
	must(t, x.Apply(ctx, []Row{row(1, 9, "SUCCEEDED"), row(2, 10, "CANCELLED"), row(6, 11, "EXHAUSTED")}, markAt(11)))
	check([]Backlog{{"FAILED", 2, rows[5].PlannedAt}})
	var plan string
	var ignored any
	must(t, x.file.Readers().QueryRowContext(ctx, "EXPLAIN QUERY PLAN "+selectOpen).Scan(&ignored, &ignored, &ignored, &plan))
	if !strings.Contains(plan, "deliveries_open") {
		t.Error(plan)
	}
}
