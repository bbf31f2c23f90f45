package export

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"payledger/eventstore"
	"payledger/projections/deliveries"
)

// The states of the books with the place up to which the deliveries were read, and with the record
// at it.
const statePlace, stateRecord = "deliveries", "delivery"

// nameOf returns the text that tells a record from others that a ledger may have at its place.
func nameOf(d deliveries.Recorded) string {
	return d.ID + " " + d.RecordedAt.Time.UTC().Truncate(time.Microsecond).Format(time.RFC3339Nano)
}

// sameRecord returns an error if the source has another record at the place with which the books
// end. A record that retention has dropped is no other one.
func (c Config) sameRecord(ctx context.Context, b *books, place uint64) error {
	name, err := b.state(ctx, stateRecord)
	if err != nil || name == "" || place == 0 {
		return err
	}
	var found deliveries.Recorded
	err = c.Deliveries(ctx, place-1, func(d deliveries.Recorded) error { found = d; return errKnown })
	switch {
	case !errors.Is(err, errKnown):
		return err
	case found.Place == place && nameOf(found) != name:
		return fmt.Errorf("%s ends with a record of webhook deliveries at place %d that the ledger does not have: was an older back-up restored, or is this another ledger? %s",
			c.Out, place, startAnew)
	}
	return nil
}

// deliveryRow returns the row of a delivery. Only webhooks about a payment or a dispute name one.
func deliveryRow(d deliveries.Recorded) DeliveryRow {
	row := DeliveryRow{
		ID: d.ID, Place: int64(d.Place), Account: string(d.Account), Endpoint: string(d.Endpoint), Type: d.EventType, EventID: d.EventID,
		PlannedAt: d.PlannedAt.Time, Status: d.Outcome, Attempts: int64(d.Attempts), Failed: int64(d.FailedAttempts),
		FirstAttemptAt: d.FirstAttemptAt.Time, LastAttemptAt: d.LastAttemptAt.Time, DeliveredAt: d.DeliveredAt.Time, NextAttemptAt: d.NextAt.Time,
		LastStatus: int64(d.LastStatus), LastFailure: d.LastFailure,
	}
	switch d.Aggregate {
	case eventstore.Payments.Name:
		row.Payment = d.AggregateID
	case eventstore.Disputes.Name:
		row.Dispute = d.AggregateID
	}
	return row
}

// within reports whether a record belongs to the export. To an export of a limited time it does if
// the delivery was planned, tried or ended in that time: a record that only names another node as
// the sender, or repeats an older one whose segment is dropped, changes nothing.
func (c Config) within(ctx context.Context, b *books, rows map[string]DeliveryRow, row DeliveryRow, d deliveries.Recorded) (bool, error) {
	switch {
	case c.Window.From.IsZero():
		return true, nil
	case c.Window.before(d.RecordedAt.Time):
		return false, nil
	}
	before, known := rows[row.ID]
	if !known {
		var err error
		if before, known, err = readRow(ctx, b, webhooks, row.ID); err != nil {
			return false, err
		}
	}
	if !known && row.Status != "CANCELLED" {
		return !c.Window.before(row.PlannedAt) || !row.LastAttemptAt.IsZero() && !c.Window.before(row.LastAttemptAt), nil
	}
	before.Place = row.Place
	return before != row, nil
}

// foldDeliveries brings the deliveries of the books up to date, and marks those that changed. It
// runs before the events are read: see the package comment. It returns the place up to which the
// books had read before.
func (c Config) foldDeliveries(ctx context.Context, b *books, s *Summary) (before uint64, err error) {
	if before, err = b.number(ctx, statePlace); err != nil || c.Deliveries == nil {
		return before, err
	}
	if err := c.sameRecord(ctx, b, before); err != nil {
		return before, err
	}
	read, last := before, ""
	rows, changed := map[string]DeliveryRow{}, map[string]bool{}
	flush := func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, id := range slices.Sorted(maps.Keys(rows)) { // in the order of the file
			if err := insertRows(ctx, b, webhooks, []DeliveryRow{rows[id]}); err != nil {
				return err
			}
		}
		err := b.mark(ctx, changed)
		clear(rows)
		clear(changed)
		return err
	}
	err = c.Deliveries(ctx, before, func(d deliveries.Recorded) error {
		read, last = d.Place, nameOf(d)
		if c.Window.behind(d.RecordedAt.Time) {
			return nil
		}
		row := deliveryRow(d)
		within, err := c.within(ctx, b, rows, row, d)
		if err != nil {
			return err
		}
		rows[d.ID] = row
		changed[d.ID] = changed[d.ID] || within
		if len(rows) < batchSize {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	if err == nil {
		err = b.setState(ctx, statePlace, strconv.FormatUint(read, 10))
	}
	if err == nil && last != "" {
		err = b.setState(ctx, stateRecord, last)
	}
	if err == nil {
		s.Deliveries, err = b.changedDeliveries(ctx)
	}
	return before, err
}
