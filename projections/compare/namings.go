package compare

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"payledger/projections"
	"payledger/projections/sqlitefile"
)

// namings is the comparison of the rows that say which sessions named a customer. An erasure finds
// the sessions of a person by them. An event that names a customer has a row: one with its own
// time, or an earlier one if an event before it named the same customer.
type namings struct {
	waiting []projections.NamingRow
	before  int // live: rows at the beginning
	matched int // rows with the time of an event
}

// elsewhere are the tables of the views that have no row for each aggregate, with the function that
// compares them. With tables, these are all tables: Finish reports any other one, so that verify
// cannot forget a new table.
var elsewhere = map[string]string{
	"positions": "checkPlaces", "namings": "finishNamings", "audit": "flushAudit", "transactions": "flushCharged",
	"statistics": "statistics.Check", "blocks": "projections.CheckBlocks", "block_columns": "projections.CheckBlocks", "kinds": "projections.CheckBlocks",
	"meta": "sqlitefile.OpenStill", // the identity
}

func (c *Comparison) addNaming(ctx context.Context, row projections.NamingRow) error {
	if c.audit.named.waiting = append(c.audit.named.waiting, row); len(c.audit.named.waiting) < batchRows {
		return nil
	}
	return c.flushNamings(ctx)
}

// flushNamings looks rows up. A running service may have to apply events first.
func (c *Comparison) flushNamings(ctx context.Context) error {
	all := c.audit.named.waiting
	c.audit.named.waiting = all[:0]
	for again := false; ; again = true {
		missing, matched := -1, 0
		err := c.rows(ctx, func(file *sql.DB) error {
			for i, row := range all {
				var since int64
				err := file.QueryRowContext(ctx, `SELECT since FROM namings WHERE account = ? AND customer = ? AND session = ?`,
					row.Account, row.Customer, row.Session).Scan(&since)
				switch {
				case err != nil && !errors.Is(err, sql.ErrNoRows):
					return err
				case err != nil || since > row.Since:
					missing = i
					return nil
				case since == row.Since:
					matched++
				}
			}
			return nil
		})
		switch {
		case err != nil:
			return c.unreadable(ctx, fmt.Errorf("namings: %w", err))
		case missing < 0:
			c.audit.named.matched += matched
			return nil
		case c.live != nil && !again:
			if err := c.live.CaughtUp(ctx); err != nil {
				return err
			}
		default: // without the customer's id, which may be personal data
			return c.fault("the views do not have since when session %s names its customer: an erasure would miss it", all[missing].Session)
		}
	}
}

func (c *Comparison) finishNamings(ctx context.Context) error {
	if err := c.flushNamings(ctx); err != nil {
		return err
	}
	n := c.audit.named.before
	if c.live == nil {
		var err error
		if n, err = c.countNamings(ctx); err != nil {
			return c.unreadable(ctx, err)
		}
	}
	if n > c.audit.named.matched {
		return c.fault("the views have %d rows of namings that the log does not have", n-c.audit.named.matched)
	}
	return nil
}

func (c *Comparison) countNamings(ctx context.Context) (n int, err error) {
	return n, c.rows(ctx, func(file *sql.DB) error {
		return file.QueryRowContext(ctx, `SELECT count(*) FROM namings`).Scan(&n)
	})
}

// checkTables reports a table that nothing here compares.
func (c *Comparison) checkTables(ctx context.Context) error {
	var unknown []string
	err := c.rows(ctx, func(file *sql.DB) error {
		all, err := file.QueryContext(ctx, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY name`) //nolint:rowserrcheck // Each checks it
		return sqlitefile.Rows(all, err).Each(func(scan sqlitefile.Scan) error {
			var name string
			err := scan(&name)
			if _, of := tables[name]; !of && elsewhere[name] == "" {
				unknown = append(unknown, name)
			}
			return err
		})
	})
	if err != nil {
		return c.unreadable(ctx, err)
	}
	if slices.Sort(unknown); len(unknown) > 0 {
		return c.fault("the views have the tables %v, which nothing compares with the log", unknown)
	}
	return nil
}
