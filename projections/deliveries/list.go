package deliveries

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"payledger/domain"
	"payledger/projections/listing"
	"payledger/projections/sqlitefile"
)

// List returns a page of at most limit deliveries of an account, newest first, after from. It shows
// the applied records and does not wait.
func (x *Index) List(ctx context.Context, account domain.AccountID, f Filter, from *listing.Place, limit int) (page listing.Page[Row], err error) {
	w, done := x.reading()
	defer done()
	query, args := listQuery(account, f, from, limit+1)
	rows, err := sqlitefile.Read(ctx, w.file.Readers(), scanRow, query, args...)
	if err != nil {
		return page, fmt.Errorf("deliveries: list: %w", w.file.Noticed(err))
	}
	return listing.PageOf(rows, limit, func(r Row) *listing.Place { return &listing.Place{At: r.PlannedAt, ID: r.ID} }), nil
}

// succeeded is delivery.Succeeded of package notifier, the status of most deliveries.
const succeeded = "SUCCEEDED"

// listQuery returns the query of a page. It merges one SELECT for each value of the index's column,
// in the index's order.
func listQuery(account domain.AccountID, f Filter, from *listing.Place, n int) (string, []any) {
	index := indexFor(f)
	where := conditions(f, from)
	var selects []string
	var args []any
	for _, value := range index.values {
		one := "SELECT rowid AS row, planned_at, id FROM deliveries INDEXED BY " + index.name + " WHERE account = ?"
		args = append(args, string(account))
		if index.column != "" {
			one += " AND " + index.column + " = ?"
			args = append(args, value)
		}
		selects = append(selects, one+" AND "+where.SQL())
		args = append(args, where.Args...)
	}
	own := "deliveries." + strings.Join(strings.Fields(columns), " deliveries.")
	return "SELECT " + own + " FROM (" + strings.Join(selects, " UNION ALL ") +
		" ORDER BY planned_at DESC, id DESC LIMIT ?) AS page JOIN deliveries ON deliveries.rowid = page.row" +
		" ORDER BY page.planned_at DESC, page.id DESC", append(args, n)
}

// alwaysFailed are the statuses whose deliveries all have a failed attempt.
var alwaysFailed = []string{"EXHAUSTED", "FAILED"}

// index is an index of the table, and the values of its first column that a filter selects.
type index struct {
	name, column string
	values       []string
}

func indexFor(f Filter) index {
	statuses := slices.Compact(slices.Sorted(slices.Values(f.Statuses)))
	other := func(status string) bool { return !slices.Contains(alwaysFailed, status) }
	switch {
	case f.Payment != "":
		return index{"deliveries_about", "aggregate_id", []string{string(f.Payment)}}
	case f.EverFailed && (len(statuses) == 0 || slices.ContainsFunc(statuses, other)):
		return index{"deliveries_failed", "", []string{""}}
	case len(statuses) > 0 && (f.Endpoint == "" || !slices.Contains(statuses, succeeded)):
		return index{"deliveries_status", "status", statuses}
	case f.Endpoint != "":
		return index{"deliveries_endpoint", "endpoint", []string{string(f.Endpoint)}}
	}
	return index{"deliveries_planned", "", []string{""}}
}

// conditions returns the conditions of all filters. They may repeat the filter of indexFor.
func conditions(f Filter, from *listing.Place) (w sqlitefile.Where) {
	w.OneOf("+status", f.Statuses)
	w.OneOf("+event_type", f.EventTypes)
	if f.Endpoint != "" {
		w.And("+endpoint = ?", string(f.Endpoint))
	}
	if f.Payment != "" {
		w.And("aggregate = 'payment'")
	}
	if f.EverFailed {
		w.And("failed > 0") // as the partial index has it
	}
	w.Between("planned_at", f.From, f.To)
	w.After("planned_at", from)
	return w
}

func scanRow(scan sqlitefile.Scan) (r Row, err error) {
	var planned, updated, next, succeeded int64
	err = scan(&r.ID, &r.Name, &r.Seq, &r.Account, &r.Endpoint, &r.EventType, &r.EventID, &r.Aggregate,
		&r.AggregateID, &r.Status, &planned, &updated, &next, &r.Attempts, &r.StatusCode, &r.Failure, &r.Failed, &succeeded, &r.SucceededBy)
	r.PlannedAt, r.UpdatedAt, r.NextAt, r.SucceededAt = date(planned), date(updated), date(next), date(succeeded)
	return r, err
}

// micros and date convert times of the file: microseconds since 1970, 0 for the zero time.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func date(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}
