package deliveries

import (
	"context"
	"fmt"
	"time"
)

// Backlog counts the open deliveries of one status, of all accounts, for operators.
type Backlog struct {
	Status string // PLANNED: before the first automatic attempt; FAILED: before a retry
	Count  int
	Oldest time.Time // earliest time of planning
}

// Backlog counts the open deliveries by status. It counts the applied records and does not wait. Its cost grows with the
// number of open deliveries.
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
