package export

import (
	"context"
	"maps"
	"slices"
	"time"
)

const batchSize = 2000

// Window limits an export by the events' time; a zero time does not limit.
type Window struct{ From, To time.Time } // both included

func (w Window) before(at time.Time) bool { return !w.From.IsZero() && at.Before(w.From) }
func (w Window) behind(at time.Time) bool { return !w.To.IsZero() && at.After(w.To) }

type batch struct {
	events   []EventRow
	entries  []EntryRow
	payments map[string]*change
	disputes map[string]DisputeRow
	changed  map[string]bool // ids of the payments and disputes with an event in the window
}

type change struct {
	before known
	row    PaymentRow
	newest Event
}

// clear empties the batch, and keeps its memory for the next one.
func (a *batch) clear() {
	clear(a.events)
	clear(a.entries)
	clear(a.payments)
	clear(a.disputes)
	clear(a.changed)
	a.events, a.entries = a.events[:0], a.entries[:0]
}

// add folds an event. shown reports whether the event's own rows belong to the export; if not, it
// changes the balances only.
func (a *batch) add(ctx context.Context, b *books, e Event, shown bool) error {
	var lines []EntryRow
	switch {
	case e.Payment != nil:
		id := string(e.Payment.ID)
		p := a.payments[id]
		if p == nil {
			before, err := b.payment(ctx, id)
			if err != nil {
				return err
			}
			p = &change{before: before, row: before.row}
			a.payments[id] = p
		}
		after, err := e.paymentRow(p.row)
		if err != nil {
			return err
		}
		lines = paymentEntries(int64(e.Position), e.Time.Time, p.row, after)
		p.row, p.newest = after, e
		p.newest.Fact = nil
		a.changed[id] = a.changed[id] || shown
	case e.Dispute != nil && e.Dispute.ID != "": // a dispute whose notifications were all rejected was never opened
		before, found := a.disputes[string(e.Dispute.ID)]
		if !found {
			var err error
			if before, _, err = readRow(ctx, b, disputes, string(e.Dispute.ID)); err != nil {
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
	for _, id := range slices.Sorted(maps.Keys(a.payments)) { // in the order of the file
		p := a.payments[id]
		all, some := p.newest.transactionRows()
		if err := b.write(ctx, p.before, p.row, all, some); err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(a.disputes)) {
		if err := insertRows(ctx, b, disputes, []DisputeRow{a.disputes[id]}); err != nil {
			return err
		}
	}
	if err := b.mark(ctx, a.changed); err != nil || !b.all {
		return err
	}
	if err := insertRows(ctx, b, events, a.events); err != nil {
		return err
	}
	return insertRows(ctx, b, entries, a.entries)
}
