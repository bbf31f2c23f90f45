package export

import (
	"context"
	"time"
)

// batchSize is the number of events that are folded before their rows are written.
const batchSize = 2000

// Window limits an export by the events' time; a zero time does not limit.
type Window struct{ From, To time.Time } // both included

func (w Window) before(at time.Time) bool { return !w.From.IsZero() && at.Before(w.From) }
func (w Window) behind(at time.Time) bool { return !w.To.IsZero() && at.After(w.To) }

type batch struct {
	events   []EventRow
	entries  []EntryRow
	payments map[string]Event // the newest event of each payment
	disputes map[string]DisputeRow
	rows     map[string]PaymentRow
	changed  map[string]bool // ids of the payments and disputes with an event in the window
}

func newBatch() *batch {
	return &batch{payments: map[string]Event{}, disputes: map[string]DisputeRow{}, rows: map[string]PaymentRow{}, changed: map[string]bool{}}
}

// add folds an event. shown reports whether the event's own rows belong to the export; if not, it changes the balances only.
func (a *batch) add(ctx context.Context, b *books, e Event, shown bool) error {
	var lines []EntryRow
	switch {
	case e.Payment != nil:
		before, err := b.payment(ctx, string(e.Payment.ID))
		if err != nil {
			return err
		}
		after := e.paymentRow(before)
		lines = paymentEntries(int64(e.Position), e.Time.Time, before, after)
		b.remember(after)
		a.rows[after.ID], a.payments[after.ID] = after, e
		a.changed[after.ID] = a.changed[after.ID] || shown
	case e.Dispute != nil && e.Dispute.ID != "": // a dispute whose notifications were all rejected was never opened
		before, found := a.disputes[string(e.Dispute.ID)]
		if !found {
			var err error
			if before, err = readRow(ctx, b, disputes, string(e.Dispute.ID)); err != nil {
				return err
			}
		}
		after := e.disputeRow()
		lines = disputeEntries(int64(e.Position), e.Time.Time, before, after)
		a.disputes[after.ID] = after
		a.changed[after.ID] = a.changed[after.ID] || shown
	}
	if shown {
		a.events, a.entries = append(a.events, e.row()), append(a.entries, lines...)
	}
	return nil
}

func (a *batch) flush(ctx context.Context, b *books) error {
	for id, row := range a.rows {
		if err := insertRows(ctx, b, payments, []PaymentRow{row}); err != nil {
			return err
		}
		for _, table := range []string{transactions.name, refunds.name} {
			if err := b.exec(ctx, "DELETE FROM "+table+" WHERE payment_id = ?", id); err != nil {
				return err
			}
		}
		all, some := a.payments[id].transactionRows()
		if err := insertRows(ctx, b, transactions, all); err != nil {
			return err
		}
		if err := insertRows(ctx, b, refunds, some); err != nil {
			return err
		}
	}
	for _, row := range a.disputes {
		if err := insertRows(ctx, b, disputes, []DisputeRow{row}); err != nil {
			return err
		}
	}
	for id, changed := range a.changed {
		if !changed {
			continue
		}
		if err := b.exec(ctx, "INSERT OR IGNORE INTO changed (id) VALUES (?)", id); err != nil {
			return err
		}
	}
	if !b.all {
		return nil
	}
	if err := insertRows(ctx, b, events, a.events); err != nil {
		return err
	}
	return insertRows(ctx, b, entries, a.entries)
}
