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

// The counted rows in the order of accounts and hours, and the counts.
const (
	selectCounted  = `SELECT account, ` + factColumns + ` FROM payments INDEXED BY payments_created ORDER BY account, created_at`
	selectSessions = `SELECT account, created_at / 3600000000, count(*) FROM sessions GROUP BY 1, 2`
	selectKeys     = `SELECT account, hour FROM statistics ORDER BY account, hour`
)

// Check compares the counts with the rows of payments and sessions, in one read. It calls fault
// with each difference. Cards have no rows: Check does not compare them.
func Check(ctx context.Context, db *sql.DB, fault func(difference string) error) (err error) {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return fmt.Errorf("statistics: %w", err)
	}
	defer func() { err = errors.Join(err, tx.Rollback()) }()
	c := &check{tx: tx, fault: fault, sessions: map[hourKey]int64{}, seen: map[hourKey]bool{}}
	for _, step := range []func(context.Context) error{c.loadSessions, c.checkPayments, c.checkOthers} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("statistics: %w", err)
		}
	}
	return nil
}

type check struct {
	tx       *sql.Tx
	fault    func(difference string) error
	sessions map[hourKey]int64
	seen     map[hourKey]bool // hours that were compared
}

func (c *check) loadSessions(ctx context.Context) error {
	return sqlitefile.Rows(c.tx.QueryContext(ctx, selectSessions)).Each(func(scan sqlitefile.Scan) error {
		var at hourKey
		var n int64
		err := scan(&at.account, &at.hour, &n)
		c.sessions[at] = n
		return err
	})
}

// checkPayments compares the hours with payments.
func (c *check) checkPayments(ctx context.Context) error {
	var at hourKey
	wanted := counts{}
	err := sqlitefile.Rows(c.tx.QueryContext(ctx, selectCounted)).Each(func(scan sqlitefile.Scan) error {
		var account domain.AccountID
		var f Facts
		if err := scan(append([]any{&account}, f.fields()...)...); err != nil {
			return err
		}
		if next := (hourKey{account, f.Hour}); next != at {
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
	return sqlitefile.Rows(c.tx.QueryContext(ctx, selectKeys)).Each(func(scan sqlitefile.Scan) error {
		var at hourKey
		if err := scan(&at.account, &at.hour); err != nil {
			return err
		}
		return c.compare(ctx, at, counts{})
	})
}

func (c *check) compare(ctx context.Context, at hourKey, wanted counts) error {
	if at.account == "" || c.seen[at] {
		return nil
	}
	c.seen[at] = true
	var b []byte
	err := c.tx.QueryRowContext(ctx, selectHour, string(at.account), int64(at.hour)).Scan(&b)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	there, unreadable := decode(b)
	if n := c.sessions[at]; n != 0 {
		wanted.at(string(kindFunnel))[fSessions] = n
	}
	if funnel := there[string(kindFunnel)]; funnel != nil && funnel[fCards] != 0 {
		wanted.at(string(kindFunnel))[fCards] = funnel[fCards]
	}
	if unreadable == nil && bytes.Equal(b, wanted.encode()) {
		return nil
	}
	return c.fault(fmt.Sprintf("the counts of account %s in the hour from %s are not those of its payments and sessions", at.account, at.hour))
}
