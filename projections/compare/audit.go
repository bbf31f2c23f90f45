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
	"payledger/projections/auditlog"
	"payledger/projections/transactions"
)

// audited is the comparison of the rows that depend on single events: each event of the audit log
// has a row, and each transaction id.
type audited struct {
	charged []transactions.Row
	named   namings
	waiting []auditRow
	before  int // live: rows at the beginning
	matched int
}

type auditRow struct {
	auditlog.Row
	event *eventstore.Recorded // without its body
}

// Event compares the row of an event of the audit log. Rows are compared in batches.
func (c *Comparison) Event(ctx context.Context, r *eventstore.Recorded) error {
	if row, is, err := transactions.RowOf(r); err == nil && is {
		if c.audit.charged = append(c.audit.charged, row); len(c.audit.charged) == batchRows {
			if err := c.flushCharged(ctx); err != nil {
				return err
			}
		}
	}
	if row, is, err := projections.NamingOf(r); err == nil && is {
		if err := c.addNaming(ctx, row); err != nil {
			return err
		}
	}
	row, is, err := auditlog.RowOf(r)
	if err != nil || !is { // the check of the log reports an unreadable event
		return nil //nolint:nilerror // see above
	}
	light := *r
	light.Body = nil
	c.audit.waiting = append(c.audit.waiting, auditRow{row, &light})
	if len(c.audit.waiting) < batchRows {
		return nil
	}
	return c.flushAudit(ctx)
}

func (c *Comparison) flushAudit(ctx context.Context) error {
	all := c.audit.waiting
	c.audit.waiting = all[:0]
	for _, want := range all {
		difference, err := c.auditDifference(ctx, want)
		if err != nil {
			return c.unreadable(ctx, fmt.Errorf("audit: %w", err))
		}
		c.audit.matched++
		if difference == "" {
			continue
		}
		e := want.event
		f := verify.Fault{Sequence: format.GroupOf(e.Seq), Aggregate: e.Aggregate, ID: e.ID, Revision: e.Revision, Difference: difference + "; " + Remedy}
		if err := c.report(f); err != nil {
			return err
		}
	}
	return nil
}

// flushCharged looks the rows of transaction ids up. A running service may have to apply events
// first.
func (c *Comparison) flushCharged(ctx context.Context) error {
	rows := c.audit.charged
	c.audit.charged = rows[:0]
	for again := false; ; again = true {
		var missing []transactions.Row
		err := c.rows(ctx, func(file *sql.DB) (err error) {
			missing, err = transactions.Missing(ctx, file, rows)
			return err
		})
		switch {
		case err != nil:
			return c.unreadable(ctx, fmt.Errorf("transactions: %w", err))
		case len(missing) == 0:
			return nil
		case c.live != nil && !again:
			if err := c.live.CaughtUp(ctx); err != nil {
				return err
			}
		default:
			return c.fault("the views do not find payment %s by one of its processor's transaction ids", missing[0].Payment)
		}
	}
}

// auditDifference returns the difference of one row; "" if there is none. A running service may
// have to apply the event first.
func (c *Comparison) auditDifference(ctx context.Context, want auditRow) (string, error) {
	for again := false; ; again = true {
		var have auditlog.Row
		var found bool
		err := c.rows(ctx, func(file *sql.DB) (err error) {
			have, found, err = auditlog.Find(ctx, file, want.Row)
			return err
		})
		switch {
		case err != nil:
			return "", err
		case found && have == want.Row:
			return "", nil
		case c.live != nil && !again:
			if err := c.live.WaitFor(ctx, want.Shard, want.Seq); err != nil {
				return "", err
			}
		case !found:
			return "the views have no row of " + want.Type + " in audit", nil
		default:
			return fmt.Sprintf("the views have %v in audit, the log %v", have, want.Row), nil
		}
	}
}

func (c *Comparison) finishAudit(ctx context.Context) error {
	if err := c.flushAudit(ctx); err != nil {
		return err
	}
	if err := errors.Join(c.flushCharged(ctx), c.finishNamings(ctx)); err != nil {
		return err
	}
	n := c.audit.before
	if c.live == nil {
		var err error
		if n, err = c.countAudit(ctx); err != nil {
			return c.unreadable(ctx, err)
		}
	}
	if n > c.audit.matched {
		return c.fault("the views have %d rows of audit that the log does not have", n-c.audit.matched)
	}
	return nil
}

func (c *Comparison) countAudit(ctx context.Context) (n int, err error) {
	return n, c.rows(ctx, func(file *sql.DB) (err error) {
		n, err = auditlog.Count(ctx, file)
		return err
	})
}
