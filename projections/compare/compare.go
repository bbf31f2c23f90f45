package compare

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"

	"payledger/eventstore"
	"payledger/eventstore/format"
	"payledger/eventstore/verify"
	"payledger/projections"
)

// batchRows is how many rows of a table are read at once.
const batchRows = 256

// Remedy is the advice for views that differ from the log.
const Remedy = "the views hold no facts of their own: stop the service, remove views/views.sqlite* from its data folder, and start it to make them again from the log"

// tries is how often a row of a running service is compared again.
const tries = 5

// table is a table of the read model.
type table struct {
	columns []string // the aggregate's id first, then as projections.RowOf has them
	lasting bool     // rows are never deleted
}

var tables = map[string]table{
	"payments": {[]string{
		"id", "account", "shard", "seq", "revision", "created_at", "updated_at", "status", "order_id", "customer_id", "session",
		"currency", "amount", "processor", "merchant_id", "payment_method_type", "last4", "network", "email_hash", "due_at", "due_turn",
		"due_state", "due_kind",
	}, true},
	"sessions":    {[]string{"id", "account", "expires_at"}, true},
	"instruments": {[]string{"token", "account", "revision", "created_at", "customer", "ended"}, true},
	"attempts":    {[]string{"id", "account", "decided_at"}, false},
	"disputes": {[]string{
		"id", "account", "revision", "created_at", "payment_id", "order_id", "processor", "foreign_id", "type", "status", "reason_code",
	}, true},
	"inboxes":  {[]string{"reference", "processor", "since"}, false},
	"runs":     {[]string{"id", "account", "workflow", "status", "revision", "started_at", "noted_at", "due_at"}, true},
	"accounts": {[]string{"id", "revision"}, true},
}

// Comparison is one comparison. It is for one goroutine.
type Comparison struct {
	rows    *sql.DB
	live    *projections.Projections // nil: the service is stopped
	report  func(verify.Fault) error
	ends    map[int]uint64 // stopped: the positions of the file
	before  map[string]int // live: rows at the beginning
	matched map[string]int
	waiting map[string][]verify.Newest
}

// Live compares the read model of a running service. Call it before the archive of the log is taken.
func Live(ctx context.Context, p *projections.Projections, report func(verify.Fault) error) (*Comparison, error) {
	c := newComparison(p.Rows(), report)
	c.live = p
	var err error
	c.before, err = c.count(ctx)
	return c, err
}

// Stopped compares the file of a stopped service.
func Stopped(ctx context.Context, rows *sql.DB, report func(verify.Fault) error) (*Comparison, error) {
	c := newComparison(rows, report)
	c.ends = map[int]uint64{}
	all, err := rows.QueryContext(ctx, `SELECT shard, seq FROM positions`)
	if err != nil {
		return nil, fmt.Errorf("views: %w", err)
	}
	defer all.Close()
	for all.Next() {
		var shard int
		var seq uint64
		if err := all.Scan(&shard, &seq); err != nil {
			return nil, fmt.Errorf("views: %w", err)
		}
		c.ends[shard] = seq
	}
	return c, all.Err()
}

func newComparison(rows *sql.DB, report func(verify.Fault) error) *Comparison {
	return &Comparison{rows: rows, report: report, matched: map[string]int{}, waiting: map[string][]verify.Newest{}}
}

// End returns the last address of a shard that the read model shows.
func (c *Comparison) End(shard int) uint64 {
	if c.live != nil {
		return ^uint64(0)
	}
	return c.ends[shard]
}

// Add compares the row of an aggregate, now or with others.
func (c *Comparison) Add(ctx context.Context, n verify.Newest) error {
	row, of := projections.RowOf(n.Key, n.Shard, n.Seq, n.Revision, n.State)
	if !of {
		return nil
	}
	c.waiting[row.Table] = append(c.waiting[row.Table], n)
	if len(c.waiting[row.Table]) < batchRows {
		return nil
	}
	return c.flush(ctx, row.Table)
}

// Finish compares the remaining rows and the numbers of rows, and runs SQLite's check of the file.
func (c *Comparison) Finish(ctx context.Context) error {
	for name := range tables {
		if err := c.flush(ctx, name); err != nil {
			return err
		}
	}
	there := c.before
	if c.live == nil {
		var err error
		if there, err = c.count(ctx); err != nil {
			return err
		}
	}
	for name, n := range there {
		if c.live != nil && !tables[name].lasting {
			continue
		}
		if n > c.matched[name] {
			if err := c.fault("the views have %d rows of %s that the log does not have", n-c.matched[name], name); err != nil {
				return err
			}
		}
	}
	var sound string
	if err := c.rows.QueryRowContext(ctx, `PRAGMA integrity_check(1)`).Scan(&sound); err != nil {
		sound = err.Error()
	}
	if sound != "ok" && ctx.Err() == nil {
		return c.fault("the file of the views is damaged: %s", sound)
	}
	return ctx.Err()
}

func (c *Comparison) fault(format string, args ...any) error {
	return c.report(verify.Fault{Difference: fmt.Sprintf(format, args...) + "; " + Remedy})
}

// count counts the rows of all tables.
func (c *Comparison) count(ctx context.Context) (map[string]int, error) {
	all := map[string]int{}
	for name := range tables {
		var n int
		if err := c.rows.QueryRowContext(ctx, `SELECT count(*) FROM `+name).Scan(&n); err != nil {
			return nil, fmt.Errorf("views: %w", err)
		}
		all[name] = n
	}
	return all, nil
}

// flush compares the waiting aggregates of a table.
func (c *Comparison) flush(ctx context.Context, name string) error {
	all := c.waiting[name]
	c.waiting[name] = all[:0]
	if len(all) == 0 {
		return nil
	}
	rows, err := c.read(ctx, name, all)
	if err != nil {
		return c.fault("%s cannot be read: %s", name, err)
	}
	for _, n := range all {
		want, _ := projections.RowOf(n.Key, n.Shard, n.Seq, n.Revision, n.State)
		difference := c.differ(want, rows[n.Key.ID])
		if difference != "" && c.live != nil {
			if difference, err = c.again(ctx, n); err != nil {
				return err
			}
		}
		if want.Values != nil {
			c.matched[name]++
		}
		if difference == "" {
			continue
		}
		f := verify.Fault{
			Stream: n.Stream, Sequence: format.GroupOf(n.Seq), Aggregate: n.Key.Aggregate, ID: n.Key.ID, Revision: n.Revision,
			Difference: difference + "; " + Remedy,
		}
		if err := c.report(f); err != nil {
			return err
		}
	}
	return nil
}

// read returns the rows of aggregates by their ids.
func (c *Comparison) read(ctx context.Context, name string, of []verify.Newest) (map[string][]any, error) {
	ids := make([]string, len(of))
	for i := range of {
		ids[i] = of[i].Key.ID
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	columns := tables[name].columns
	query := "SELECT "
	for i, column := range columns {
		if i > 0 {
			query += ", "
		}
		query += column
	}
	found, err := c.rows.QueryContext(ctx, query+" FROM "+name+" WHERE "+columns[0]+" IN (SELECT value FROM json_each(?))", string(list))
	if err != nil {
		return nil, err
	}
	defer found.Close()
	rows := make(map[string][]any, len(of))
	for found.Next() {
		values, to := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			to[i] = &values[i]
		}
		if err := found.Scan(to...); err != nil {
			return nil, err
		}
		rows[fmt.Sprint(values[0])] = values
	}
	return rows, found.Err()
}

// differ returns the first difference between a row and what it must be, or "".
func (c *Comparison) differ(want projections.Row, have []any) string {
	switch {
	case want.Values == nil && have == nil:
		return ""
	case have == nil:
		return "the views have no row of it in " + want.Table
	case want.Values == nil:
		return "the views have a row of it in " + want.Table + ", which it must not have"
	case slices.Equal(want.Values, have):
		return ""
	}
	for i, column := range tables[want.Table].columns {
		if want.Values[i] != have[i] {
			return fmt.Sprintf("the views have %v as %s of %s, the log %v", have[i], column, want.Table, want.Values[i])
		}
	}
	return ""
}

// again compares an aggregate that may have a newer event by now.
func (c *Comparison) again(ctx context.Context, n verify.Newest) (difference string, err error) {
	for range tries {
		r, err := c.live.Store.Load(ctx, n.Key, eventstore.Latest)
		if err != nil {
			return "", err
		}
		if err := c.live.WaitFor(ctx, r.Shard, r.Seq); err != nil {
			return "", err
		}
		if n.State, err = projections.StateOf(ctx, c.live.Store, r); err != nil {
			return "", err
		}
		want, _ := projections.RowOf(n.Key, r.Shard, r.Seq, r.Revision, n.State)
		rows, err := c.read(ctx, want.Table, []verify.Newest{n})
		if err != nil {
			return "", err
		}
		if difference = c.differ(want, rows[n.Key.ID]); difference == "" {
			return "", nil
		}
	}
	return difference, nil
}
