package statistics

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"payledger/domain"
)

// The sizes of what a Counter keeps in memory.
const (
	keptHours = 1024
	keptFacts = 8192 // of the newest payments, twice
)

// Counter keeps the counts of hours as payments change. It must be dropped if the transaction that
// wrote its hours fails.
type Counter struct {
	statements    map[string]*sql.Stmt
	hours         map[hourKey]counts
	changed       map[hourKey]bool
	recent, older map[domain.PaymentID]Facts // as of the last Payment call
}

type hourKey struct {
	account domain.AccountID
	hour    Hour
}

// NewCounter returns a counter that writes with the prepared statements.
func NewCounter(statements map[string]*sql.Stmt) *Counter {
	return &Counter{statements: statements, hours: map[hourKey]counts{}, changed: map[hourKey]bool{}, recent: map[domain.PaymentID]Facts{}}
}

// Before returns the facts of a payment that its row has: call it before the row is changed.
func (c *Counter) Before(ctx context.Context, id domain.PaymentID) (f Facts, err error) {
	for _, kept := range []map[domain.PaymentID]Facts{c.recent, c.older} {
		if f, known := kept[id]; known {
			return f, nil
		}
	}
	err = c.statements[selectFacts].QueryRowContext(ctx, string(id)).Scan(f.fields()...)
	return f, err
}

// Payment counts a payment that has the facts now; before are those that were counted, nil for a
// new payment.
func (c *Counter) Payment(ctx context.Context, account domain.AccountID, id domain.PaymentID, before *Facts, now Facts) error {
	if len(c.recent) >= keptFacts {
		c.recent, c.older = map[domain.PaymentID]Facts{}, c.recent
	}
	c.recent[id] = now
	if before != nil && *before == now {
		return nil
	}
	hour, err := c.open(ctx, account, now.Hour)
	if err != nil {
		return err
	}
	if before != nil {
		hour.add(before, -1)
	}
	hour.add(&now, 1)
	return nil
}

// Session counts a client session that was created at a time.
func (c *Counter) Session(ctx context.Context, account domain.AccountID, at time.Time) error {
	return c.step(ctx, account, at, fSessions)
}

// Card counts a card that was entered at a time.
func (c *Counter) Card(ctx context.Context, account domain.AccountID, at time.Time) error {
	return c.step(ctx, account, at, fCards)
}

func (c *Counter) step(ctx context.Context, account domain.AccountID, at time.Time, step int) error {
	hour, err := c.open(ctx, account, HourOf(at))
	if err == nil {
		hour.at(string(kindFunnel))[step]++
	}
	return err
}

// open returns the counts of an hour, to change them.
func (c *Counter) open(ctx context.Context, account domain.AccountID, hour Hour) (counts, error) {
	key := hourKey{account, hour}
	if c.hours[key] == nil {
		var b []byte
		err := c.statements[selectHour].QueryRowContext(ctx, string(account), int64(hour)).Scan(&b)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return nil, err
		}
		if c.hours[key], err = decode(b); err != nil {
			return nil, fmt.Errorf("statistics: %s of account %s: %w", hour, account, err)
		}
	}
	c.changed[key] = true
	return c.hours[key], nil
}

// Write writes the hours that have changed.
func (c *Counter) Write(ctx context.Context) error {
	for key := range c.changed {
		var err error
		if b := c.hours[key].encode(); len(b) > 0 {
			_, err = c.statements[upsertHour].ExecContext(ctx, string(key.account), int64(key.hour), b)
		} else {
			_, err = c.statements[deleteHour].ExecContext(ctx, string(key.account), int64(key.hour))
		}
		if err != nil {
			return err
		}
	}
	clear(c.changed)
	if len(c.hours) > keptHours {
		clear(c.hours)
	}
	return nil
}
