package compare

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"payledger/eventstore"
	"payledger/eventstore/format"
	"payledger/eventstore/verify"
	"payledger/projections"
	"payledger/projections/sqlitefile"
	"payledger/projections/statistics"
)

const batchRows = 256

// Remedy is the advice for views that differ from the log.
const Remedy = "the views hold no facts of their own: stop the service, remove views/views.sqlite* from its data folder, and start it to rebuild them from the log"

const tries = 5

type table struct {
	columns []string // the aggregate's id, then the columns in the order of projections.RowOf
	lasting bool     // rows are never deleted
}

var tables = map[string]table{
	"payments": {[]string{
		"id", "account", "shard", "seq", "revision", "created_at", "updated_at", "status", "order_id", "customer_id", "session",
		"currency", "amount", "processor", "merchant_id", "payment_method_type", "last4", "network", "email_hash", "key_number", "due_at", "due_slot",
		"due_state", "due_kind", "tries", "captured", "refunded", "country", "reason", "challenge",
	}, true},
	"sessions":    {[]string{"id", "account", "expires_at", "customer", "created_at"}, true},
	"instruments": {[]string{"token", "account", "revision", "created_at", "customer", "ended", "session", "vaulted_at", "default_at"}, true},
	"attempts":    {[]string{"id", "account", "revision", "expires_at", "decided_at"}, false},
	"disputes": {[]string{
		"id", "account", "revision", "created_at", "payment_id", "order_id", "processor", "foreign_id", "type", "status", "reason_code",
	}, true},
	"inboxes":  {[]string{"reference", "processor", "since"}, false},
	"runs":     {[]string{"id", "account", "workflow", "status", "revision", "started_at", "noted_at", "due_at"}, true},
	"accounts": {[]string{"id", "revision"}, true},
	"persons":  {[]string{"id", "account", "customer", "session", "erased", "erased_at", "destroyed"}, true},
}

// Comparison is one comparison of the views with the log. Only one goroutine may use it.
type Comparison struct {
	rows    source
	live    *projections.Projections // nil: the service is stopped
	report  func(verify.Fault) error
	ends    map[int]place  // stopped: the file's positions that Shown has not compared yet
	end     map[int]uint64 // stopped: the last addresses that the file shows
	before  map[string]int // live: rows at the beginning
	matched map[string]int
	waiting map[string][]verify.Newest
	audit   audited
}

// place is the position of a shard: the address of its newest applied event, and the number and the
// hash of that event.
type place struct {
	seq, number uint64
	hash        []byte
}

func (p place) of(r *eventstore.Recorded) bool {
	return p.seq == r.Seq && p.number == r.Number && string(p.hash) == string(r.Hash[:])
}

// Live starts the comparison of a running service's read model. Call it before the archive of the
// log is opened.
func Live(ctx context.Context, p *projections.Projections, report func(verify.Fault) error) (*Comparison, error) {
	c := newComparison(p.WithRows, report)
	c.live = p
	var err error
	if c.before, err = c.count(ctx); err == nil {
		c.audit.before, err = c.countAudit(ctx)
	}
	if err == nil {
		c.audit.named.before, err = c.countNamings(ctx)
	}
	return c, err
}

// Stopped starts the comparison of a stopped service's file.
func Stopped(ctx context.Context, file *sql.DB, report func(verify.Fault) error) (*Comparison, error) {
	c := newComparison(still(file), report)
	var err error
	c.ends, err = c.places(ctx)
	c.end = map[int]uint64{}
	for shard, at := range c.ends {
		c.end[shard] = at.seq
	}
	return c, err
}

func newComparison(rows source, report func(verify.Fault) error) *Comparison {
	return &Comparison{rows: rows, report: report, matched: map[string]int{}, waiting: map[string][]verify.Newest{}}
}

func (c *Comparison) places(ctx context.Context) (map[int]place, error) {
	found := map[int]place{}
	return found, c.rows(ctx, func(file *sql.DB) error {
		all, err := file.QueryContext(ctx, `SELECT shard, seq, number, hash FROM positions`) //nolint:rowserrcheck // Each checks it
		if err != nil {
			return fmt.Errorf("the views cannot be read: %w", err)
		}
		return sqlitefile.Rows(all, nil).Each(func(scan sqlitefile.Scan) error {
			var shard int
			var at place
			if err := scan(&shard, &at.seq, &at.number, &at.hash); err != nil {
				return fmt.Errorf("the views' positions cannot be read: %w", err)
			}
			found[shard] = at
			return nil
		})
	})
}

// End returns the last address of a shard that the read model shows.
func (c *Comparison) End(shard int) uint64 {
	if c.live != nil {
		return ^uint64(0)
	}
	return c.end[shard]
}

// Shown compares the position of a shard with the event at its address.
func (c *Comparison) Shown(r *eventstore.Recorded) error {
	at := c.ends[r.Shard]
	delete(c.ends, r.Shard)
	if at.of(r) {
		return nil
	}
	return c.fault("the position of shard %d in the views has another number or hash than event %d of the log", r.Shard, r.Number)
}

// Add compares the row of an aggregate. Rows are compared in batches.
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
			if err := c.unreadable(ctx, err); err != nil {
				return err
			}
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
	if err := c.finishAudit(ctx); err != nil {
		return err
	}
	if err := errors.Join(c.checkTables(ctx), c.checkPlaces(ctx)); err != nil {
		return err
	}
	return c.checkFile(ctx)
}

// checkPlaces compares the positions for which Shown was not called. A running service reads their
// events from the log.
func (c *Comparison) checkPlaces(ctx context.Context) error {
	left := c.ends
	if c.live != nil {
		var err error
		if left, err = c.places(ctx); err != nil {
			return c.unreadable(ctx, err)
		}
	}
	for shard, at := range left {
		if at.seq == 0 {
			continue
		}
		if c.live != nil && shard >= 0 && shard < c.live.Store.Shards() {
			r, err := c.live.Store.Read(ctx, shard, at.seq)
			if err == nil && at.of(r) {
				continue
			}
			if err != nil && !errors.Is(err, eventstore.ErrNotFound) {
				return err
			}
		}
		if err := c.fault("the position of shard %d in the views is no event of the log", shard); err != nil {
			return err
		}
	}
	return nil
}

func (c *Comparison) checkFile(ctx context.Context) error {
	return c.rows(ctx, func(file *sql.DB) error {
		check := func(wrong string, of func(context.Context, *sql.DB, func(difference string) error) error) error {
			var failed error
			err := of(ctx, file, func(difference string) error {
				failed = c.fault("%s are wrong: %s", wrong, difference)
				return failed
			})
			if err != nil && failed == nil {
				err = c.unreadable(ctx, err)
			}
			return err
		}
		if err := check("the blocks of the views that filtered lists search", projections.CheckBlocks); err != nil {
			return err
		}
		if err := check("the statistics of the views", statistics.Check); err != nil {
			return err
		}
		broken, err := sqlitefile.Check(ctx, file, projections.Tables)
		if err == nil && broken != "" {
			err = c.fault("the file of the views is damaged: %s", broken)
		}
		return err
	})
}

func (c *Comparison) unreadable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return c.fault("the views cannot be read: %s", err)
}

func (c *Comparison) fault(format string, args ...any) error {
	return c.report(verify.Fault{Difference: fmt.Sprintf(format, args...) + "; " + Remedy})
}

func (c *Comparison) count(ctx context.Context) (map[string]int, error) {
	all := map[string]int{}
	for name := range tables {
		var n int
		err := c.rows(ctx, func(file *sql.DB) error {
			return file.QueryRowContext(ctx, `SELECT count(*) FROM `+name).Scan(&n)
		})
		if err != nil {
			return nil, err
		}
		all[name] = n
	}
	return all, nil
}

func (c *Comparison) flush(ctx context.Context, name string) error {
	all := c.waiting[name]
	c.waiting[name] = all[:0]
	if len(all) == 0 {
		return nil
	}
	ids := make([]string, len(all))
	for i := range all {
		ids[i] = all[i].Key.ID
	}
	rows, err := rowsByID(ctx, c.rows, name, tables[name].columns, ids)
	if err != nil {
		return c.unreadable(ctx, fmt.Errorf("%s: %w", name, err))
	}
	for _, n := range all {
		want, _ := projections.RowOf(n.Key, n.Shard, n.Seq, n.Revision, n.State)
		difference, err := c.differ(ctx, n, rows[n.Key.ID], want)
		if err != nil {
			return c.unreadable(ctx, fmt.Errorf("%s: %w", name, err))
		}
		if difference != "" && c.live != nil {
			if difference, err = c.again(ctx, n); err != nil {
				return err
			}
		}
		if err := c.checkErasure(ctx, n); err != nil {
			return err
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

// again compares an aggregate that may have got a newer event.
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
		columns := tables[want.Table].columns
		rows, err := rowsByID(ctx, c.rows, want.Table, columns, []string{n.Key.ID})
		if err != nil {
			return "", err
		}
		if difference, err = c.differ(ctx, n, rows[n.Key.ID], want); err != nil || difference == "" {
			return "", err
		}
	}
	return difference, nil
}
