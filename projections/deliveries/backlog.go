package deliveries

import (
	"context"
	"fmt"
	"time"
)

// Backlog is what operators look at: the deliveries that wait for an attempt, of all accounts.
type Backlog struct {
	Status string // PLANNED: for the first one, FAILED: for another
	Count  int
	Oldest time.Time // when the one of them was planned that has waited longest
}

// Backlog counts the open deliveries by status. It shows what is applied and does not wait; its cost is their number.
func (x *Index) Backlog(ctx context.Context) ([]Backlog, error) {
	rows, err := x.file.Readers().QueryContext(ctx, selectOpen)
	if err != nil {
		return nil, fmt.Errorf("deliveries: open: %w", x.file.Noticed(err))
	}
	defer rows.Close()
	var all []Backlog
	for rows.Next() {
		var b Backlog
		var oldest int64
		if err := rows.Scan(&b.Status, &b.Count, &oldest); err != nil {
			return nil, fmt.Errorf("deliveries: open: %w", x.file.Noticed(err))
		}
		b.Oldest = time.UnixMicro(oldest).UTC()
		all = append(all, b)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("deliveries: open: %w", x.file.Noticed(err))
	}
	return all, nil
}
