package deliveries

import (
	"context"
	"fmt"
	"time"

	"payledger/projections/sqlitefile"
)

// Backlog counts the open deliveries of one status, of all accounts, for operators.
type Backlog struct {
	Status string // PLANNED: before the first automatic attempt; FAILED: before a retry
	Count  int
	Oldest time.Time // earliest time of planning
}

// Backlog counts the open deliveries by status. It counts the applied records and does not wait:
// records that gather are missing. Its cost grows with the number of open deliveries.
func (x *Index) Backlog(ctx context.Context) ([]Backlog, error) {
	w, done := x.reading()
	defer done()
	all, err := sqlitefile.Read(ctx, w.file.Readers(), func(scan sqlitefile.Scan) (b Backlog, err error) {
		var oldest int64
		err = scan(&b.Status, &b.Count, &oldest)
		b.Oldest = time.UnixMicro(oldest).UTC()
		return b, err
	}, selectOpen)
	if err != nil {
		return nil, fmt.Errorf("deliveries: open: %w", w.file.Noticed(err))
	}
	return all, nil
}
