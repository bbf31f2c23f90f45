package projections

import (
	"context"
	"time"

	"payledger/domain/inbox"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore/commands/pending"
	"payledger/projections/sqlitefile"
)

var _ pending.Views = (*Projections)(nil)

const (
	selectSlots = `SELECT due_slot, id, account FROM payments INDEXED BY payments_slot WHERE due_slot IS NOT NULL AND processor = ?
		AND (due_slot, id) > (?, ?) AND due_slot <= ? AND (due_at <= ? OR due_at > ?) ORDER BY due_slot, id LIMIT ?`
	selectActions = `SELECT due_at, id, account FROM payments INDEXED BY payments_action WHERE due_state = 'ACTION' AND processor = ?
		AND (due_at, id) > (?, ?) AND due_at <= ? ORDER BY due_at, id LIMIT ?`
	// A notification can be applied when its payment is known, and rejected when it has waited long
	// enough.
	selectInboxes = `SELECT since, reference, '' FROM inboxes INDEXED BY inboxes_since WHERE processor = ? AND (since, reference) > (?, ?)
		AND (since < ? OR EXISTS (SELECT 1 FROM payments WHERE id = reference)) ORDER BY since, reference LIMIT ?`
	selectAttempts = `SELECT decided_at, id, account FROM attempts INDEXED BY attempts_decided WHERE (decided_at, id) > (?, ?)
		AND decided_at <= ? ORDER BY decided_at, id LIMIT ?`
	selectPending = `SELECT processor, due_kind, due_state, count(*), min(due_at), min((due_slot - ? + ?) % ?) FROM payments INDEXED BY payments_slot
		WHERE due_slot IS NOT NULL GROUP BY processor, due_kind, due_state`
)

// OpenOperations lists the payments with an operation at a processor that has no outcome (D8); see
// pending.Views.
func (p *Projections) OpenOperations(ctx context.Context, name processor.Name, slots pending.Slots, after pending.Place, limit int) ([]pending.Item, error) {
	ahead := maxMicros
	if !slots.Ahead.IsZero() {
		ahead = slots.Ahead.UnixMicro()
	}
	return p.items(ctx, "open operations", selectSlots, string(name), after.At, after.ID, slots.Through, slots.Requested.UnixMicro(), ahead, limit)
}

// ExpiredActions lists the payments at a processor whose action expired by now (D7); see
// pending.Views.
func (p *Projections) ExpiredActions(ctx context.Context, name processor.Name, now time.Time, after pending.Place, limit int) ([]pending.Item, error) {
	return p.items(ctx, "expired actions", selectActions, string(name), after.At, after.ID, now.UnixMicro(), limit)
}

// WaitingInboxes lists the inboxes with a waiting notification of a processor (D14.6) whose payment
// is known, or did not appear in time.
func (p *Projections) WaitingInboxes(ctx context.Context, name processor.Name, now time.Time, after pending.Place, limit int) ([]pending.Item, error) {
	return p.items(ctx, "inboxes", selectInboxes, string(name), after.At, after.ID, inbox.StaleBefore(now).UnixMicro(), limit)
}

// DueAttempts lists the decided payment attempts with work left (§3.3); see pending.Views.
func (p *Projections) DueAttempts(ctx context.Context, decided time.Time, after pending.Place, limit int) ([]pending.Item, error) {
	return p.items(ctx, "attempts", selectAttempts, after.At, after.ID, decided.UnixMicro(), limit)
}

func (p *Projections) items(ctx context.Context, what, query string, args ...any) ([]pending.Item, error) {
	return rowsOf(ctx, p, what, func(scan sqlitefile.Scan) (i pending.Item, err error) {
		err = scan(&i.At, &i.ID, &i.Account)
		return i, err
	}, query, args...)
}

// PendingOperations counts the open operations of one kind and state at one processor.
type PendingOperations struct {
	Processor processor.Name
	Kind      processor.Kind
	State     payment.OperationState
	Count     int
	Since     time.Time // of the oldest request
	Next      time.Time // the first of their slots after now
}

// PendingOperations counts the operations without an outcome in this node's views. It reads an
// index of all of them.
func (p *Projections) PendingOperations(ctx context.Context, now time.Time) ([]PendingOperations, error) {
	round := pending.Cycle.Microseconds()
	return rowsOf(ctx, p, "pending operations", func(scan sqlitefile.Scan) (o PendingOperations, err error) {
		var since, wait int64
		err = scan(&o.Processor, &o.Kind, &o.State, &o.Count, &since, &wait)
		o.Since, o.Next = time.UnixMicro(since).UTC(), now.Add(time.Duration(wait)*time.Microsecond)
		return o, err
	}, selectPending, pending.Slot(now), round, round)
}
