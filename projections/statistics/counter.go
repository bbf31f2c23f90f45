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
	keptSpans = 1024
	keptFacts = 8192 // of the newest payments, twice
)

// Counter keeps the counts of hours and days as payments change. It must be dropped if the
// transaction that wrote its counts fails.
type Counter struct {
	statements    map[string]*sql.Stmt
	spans         map[span]counts
	changed       map[span]bool
	recent, older map[domain.PaymentID]Facts // as of the last Payment call
}

// span is an hour of an account, or a day.
type span struct {
	account domain.AccountID
	daily   bool
	at      int64 // hours, or days, since 1970 UTC
}

func (s span) String() string {
	if s.daily {
		return fmt.Sprintf("account %s on %s", s.account, Day(s.at))
	}
	return fmt.Sprintf("account %s in the hour from %s", s.account, Hour(s.at))
}

// spansOf returns those that have an hour.
func spansOf(account domain.AccountID, hour Hour) [2]span {
	return [2]span{{account, false, int64(hour)}, {account, true, int64(hour.Day())}}
}

// NewCounter returns a counter that writes with the prepared statements.
func NewCounter(statements map[string]*sql.Stmt) *Counter {
	return &Counter{statements: statements, spans: map[span]counts{}, changed: map[span]bool{}, recent: map[domain.PaymentID]Facts{}}
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
	for _, of := range spansOf(account, now.Hour) {
		all, err := c.open(ctx, of)
		if err != nil {
			return err
		}
		if before != nil {
			all.count(of, before, -1)
		}
		all.count(of, &now, 1)
	}
	return nil
}

// count counts a payment in the span of the counts; by is as for add.
func (c counts) count(of span, f *Facts, by int64) {
	c.add(f, by)
	if of.daily {
		c.addHour(f, by)
	}
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
	for _, of := range spansOf(account, HourOf(at)) {
		all, err := c.open(ctx, of)
		if err != nil {
			return err
		}
		all.at(string(kindFunnel))[step]++
	}
	return nil
}

// open returns the counts of a span, to change them.
func (c *Counter) open(ctx context.Context, of span) (counts, error) {
	if c.spans[of] == nil {
		var b []byte
		err := c.statements[selectSpan].QueryRowContext(ctx, string(of.account), of.daily, of.at).Scan(&b)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return nil, err
		}
		if c.spans[of], err = decode(b); err != nil {
			return nil, fmt.Errorf("statistics: %s: %w", of, err)
		}
	}
	c.changed[of] = true
	return c.spans[of], nil
}

// Write writes the counts that have changed.
func (c *Counter) Write(ctx context.Context) error {
	for of := range c.changed {
		var err error
		if b := c.spans[of].encode(); len(b) > 0 {
			_, err = c.statements[upsertSpan].ExecContext(ctx, string(of.account), of.daily, of.at, b)
		} else {
			_, err = c.statements[deleteSpan].ExecContext(ctx, string(of.account), of.daily, of.at)
		}
		if err != nil {
			return err
		}
	}
	clear(c.changed)
	if len(c.spans) > keptSpans {
		clear(c.spans)
	}
	return nil
}
