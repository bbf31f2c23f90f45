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
	disputes map[string]*disputed
	changed  map[string]bool // ids of the payments and disputes with an event in the window
}

// change is a payment with events in the batch.
type change struct {
	before known
	row    PaymentRow // after all events: the next postings are compared with it
	kept   PaymentRow // after the newest event that is not behind the window; it has no id if there is none
	newest Event      // that one
}

// disputed is a dispute with events in the batch, as change is.
type disputed struct{ row, kept DisputeRow }

// belongs is the place of an event in the export.
type belongs struct {
	shown  bool // with rows of its own
	behind bool // it is behind the window, and changes the balances only
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

// add folds an event. Every event changes the balances, also one behind the window: the times in a
// payment rise only roughly, and its next event may be in the window.
func (a *batch) add(ctx context.Context, b *books, e Event, in belongs) error {
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
		if p.row = after; !in.behind {
			p.kept, p.newest = after, e
			p.newest.Fact = nil
		}
		a.changed[id] = a.changed[id] || in.shown
	case e.Dispute != nil && e.Dispute.ID != "": // a dispute whose notifications were all rejected was never opened
		id := string(e.Dispute.ID)
		d := a.disputes[id]
		if d == nil {
			before, _, err := readRow(ctx, b, b.disputes, id)
			if err != nil {
				return err
			}
			d = &disputed{row: before}
			a.disputes[id] = d
		}
		after := e.disputeRow()
		lines = disputeEntries(int64(e.Position), e.Time.Time, d.row, after)
		if d.row = after; !in.behind {
			d.kept = after
		}
		a.changed[id] = a.changed[id] || in.shown
	}
	if in.shown {
		a.events, a.entries = append(a.events, e.row()), append(a.entries, lines...)
	}
	return nil
}

func (a *batch) flush(ctx context.Context, b *books) error {
	for _, id := range slices.Sorted(maps.Keys(a.payments)) { // in the order of the file
		if err := b.write(ctx, a.payments[id]); err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(a.disputes)) {
		if err := b.writeDispute(ctx, a.disputes[id]); err != nil {
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
