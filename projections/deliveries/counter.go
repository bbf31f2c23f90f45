package deliveries

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"payledger/domain"
	"payledger/projections/statistics"
)

// The sizes of a counter's memory.
const (
	keptSpans = 256
	keptFacts = 4096 // of the newest deliveries, twice
)

// counter keeps the counts as rows change. It must be dropped if the transaction that saved its
// counts fails.
type counter struct {
	statements    map[string]*sql.Stmt
	spans         map[span]counts
	unsaved       map[span]bool
	recent, older map[string]facts // of rows, by the id
}

// span is an hour of an account, or a day.
type span struct {
	account domain.AccountID
	daily   bool
	at      int64 // hours, or days, since 1970 UTC
}

// spans returns those to which a delivery belongs.
func (f *facts) spans() [2]span {
	hour := statistics.HourOf(date(f.planned))
	return [2]span{{f.account, false, int64(hour)}, {f.account, true, int64(hour.Day())}}
}

func newCounter(statements map[string]*sql.Stmt) *counter {
	return &counter{statements: statements, spans: map[span]counts{}, unsaved: map[span]bool{}, recent: map[string]facts{}}
}

// known returns the facts of a row, if they are in memory.
func (c *counter) known(id string) (f facts, known bool) {
	if f, known = c.recent[id]; !known {
		f, known = c.older[id]
	}
	return f, known
}

// read returns the facts of a row from the file.
func (c *counter) read(ctx context.Context, id string) (f facts, err error) {
	return f, c.statements[selectFacts].QueryRowContext(ctx, id).Scan(f.fields()...)
}

// count counts a row that has the facts now; before are those that were counted, nil for a new row.
func (c *counter) count(ctx context.Context, id string, before *facts, now facts) error {
	if len(c.recent) >= keptFacts {
		c.recent, c.older = map[string]facts{}, c.recent
	}
	c.recent[id] = now
	if before != nil && *before == now {
		return nil
	}
	for _, of := range now.spans() {
		all, err := c.open(ctx, of)
		if err != nil {
			return err
		}
		if before != nil {
			all.add(before, -1)
		}
		all.add(&now, 1)
	}
	return nil
}

// open returns the counts of a span, to change them.
func (c *counter) open(ctx context.Context, of span) (counts, error) {
	if c.spans[of] == nil {
		var b []byte
		err := c.statements[selectCounts].QueryRowContext(ctx, string(of.account), of.daily, of.at).Scan(&b)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return nil, err
		}
		all := counts{}
		if err := all.read(b); err != nil {
			return nil, fmt.Errorf("the counts of account %s: %w", of.account, err)
		}
		c.spans[of] = all
	}
	c.unsaved[of] = true
	return c.spans[of], nil
}

// save writes the counts that have changed.
func (c *counter) save(ctx context.Context) error {
	for of := range c.unsaved {
		if _, err := c.statements[upsertCounts].ExecContext(ctx, string(of.account), of.daily, of.at, c.spans[of].encode()); err != nil {
			return err
		}
	}
	clear(c.unsaved)
	if len(c.spans) > keptSpans {
		clear(c.spans)
	}
	return nil
}
