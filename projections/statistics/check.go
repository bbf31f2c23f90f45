package statistics

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"payledger/domain"
	"payledger/projections/sqlitefile"
)

// The counted rows in the order of accounts and times, and the counts.
const (
	selectCounted  = `SELECT account, ` + factColumns + ` FROM payments INDEXED BY payments_created ORDER BY account, created_at`
	selectSessions = `SELECT account, created_at / 3600000000, count(*) FROM sessions GROUP BY 1, 2`
	selectSpans    = `SELECT account, at FROM statistics WHERE daily = ? ORDER BY account, at`
	selectHours    = `SELECT account, at, counts FROM statistics WHERE daily = FALSE ORDER BY account, at`
)

// Check compares the counts of hours with the rows of payments and sessions, and the counts of days
// with those of their hours, in one read. It calls fault with each difference. Cards have no rows:
// of them, Check compares the days only.
func Check(ctx context.Context, db *sql.DB, fault func(difference string) error) (err error) {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return fmt.Errorf("statistics: %w", err)
	}
	defer func() { err = errors.Join(err, tx.Rollback()) }()
	c := &check{tx: tx, fault: fault, sessions: map[span]int64{}, seen: map[span]bool{}}
	for _, step := range []func(context.Context) error{c.loadSessions, c.checkPayments, c.checkOthers, c.checkDays} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("statistics: %w", err)
		}
	}
	return nil
}

type check struct {
	tx       *sql.Tx
	fault    func(difference string) error
	sessions map[span]int64 // by hour
	seen     map[span]bool  // that were compared
}

func (c *check) loadSessions(ctx context.Context) error {
	return sqlitefile.Rows(c.tx.QueryContext(ctx, selectSessions)).Each(func(scan sqlitefile.Scan) error {
		var at span
		var n int64
		err := scan(&at.account, &at.at, &n)
		c.sessions[at] = n
		return err
	})
}

// checkPayments compares the hours with payments.
func (c *check) checkPayments(ctx context.Context) error {
	var at span
	wanted := counts{}
	err := sqlitefile.Rows(c.tx.QueryContext(ctx, selectCounted)).Each(func(scan sqlitefile.Scan) error {
		var account domain.AccountID
		var f Facts
		if err := scan(append([]any{&account}, f.fields()...)...); err != nil {
			return err
		}
		if next := spansOf(account, f.Hour)[0]; next != at {
			if err := c.compare(ctx, at, wanted); err != nil {
				return err
			}
			at, wanted = next, counts{}
		}
		wanted.add(&f, 1)
		return nil
	})
	if err != nil {
		return err
	}
	return c.compare(ctx, at, wanted)
}

// checkOthers compares the hours without payments.
func (c *check) checkOthers(ctx context.Context) error {
	for at := range c.sessions {
		if err := c.compare(ctx, at, counts{}); err != nil {
			return err
		}
	}
	return c.each(ctx, false, func(at span) error { return c.compare(ctx, at, counts{}) })
}

// each calls do with each hour that has counts, or with each day.
func (c *check) each(ctx context.Context, daily bool, do func(at span) error) error {
	return sqlitefile.Rows(c.tx.QueryContext(ctx, selectSpans, daily)).Each(func(scan sqlitefile.Scan) error {
		at := span{daily: daily}
		if err := scan(&at.account, &at.at); err != nil {
			return err
		}
		return do(at)
	})
}

// checkDays compares the days with the hours that have counts, and the other days with nothing.
func (c *check) checkDays(ctx context.Context) error {
	var at span
	wanted := counts{}
	err := sqlitefile.Rows(c.tx.QueryContext(ctx, selectHours)).Each(func(scan sqlitefile.Scan) error {
		var account domain.AccountID
		var hour Hour
		var b []byte
		if err := scan(&account, &hour, &b); err != nil {
			return err
		}
		if next := spansOf(account, hour)[1]; next != at {
			if err := c.compare(ctx, at, wanted); err != nil {
				return err
			}
			at, wanted = next, counts{}
		}
		if of, err := decode(b); err == nil { // compare has reported others
			wanted.merge(hour, of)
		}
		return nil
	})
	if err == nil {
		err = c.compare(ctx, at, wanted)
	}
	if err != nil {
		return err
	}
	return c.each(ctx, true, func(at span) error { return c.compare(ctx, at, counts{}) })
}

func (c *check) compare(ctx context.Context, at span, wanted counts) error {
	if at.account == "" || c.seen[at] {
		return nil
	}
	c.seen[at] = true
	b, err := c.read(ctx, at)
	if err != nil {
		return err
	}
	there, unreadable := decode(b)
	of := "hours"
	if !at.daily {
		of = "payments and sessions"
		c.addSteps(at, wanted, there)
	}
	if unreadable == nil && bytes.Equal(b, wanted.encode()) {
		return nil
	}
	return c.fault(fmt.Sprintf("the counts of %s are not those of its %s", at, of))
}

// addSteps adds the sessions of an hour, and the cards that its counts have.
func (c *check) addSteps(at span, wanted, there counts) {
	if n := c.sessions[at]; n != 0 {
		wanted.at(string(kindFunnel))[fSessions] = n
	}
	if funnel := there[string(kindFunnel)]; funnel != nil && funnel[fCards] != 0 {
		wanted.at(string(kindFunnel))[fCards] = funnel[fCards]
	}
}

// read returns the counts of a span; none if there is no row.
func (c *check) read(ctx context.Context, at span) (b []byte, err error) {
	err = c.tx.QueryRowContext(ctx, selectSpan, string(at.account), at.daily, at.at).Scan(&b)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return b, err
}
