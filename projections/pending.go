package projections

import (
	"context"
	"fmt"
	"time"

	"payledger/domain"
	"payledger/domain/attempt"
	"payledger/domain/inbox"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/domain/session"
	"payledger/eventstore"
	"payledger/eventstore/commands/pending"
	"payledger/projections/listing"
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
	selectAttempts = `SELECT decided_at, id, account FROM attempts INDEXED BY attempts_decided WHERE decided_at IS NOT NULL AND (decided_at, id) > (?, ?)
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

const selectWaiting = `SELECT id, revision FROM attempts INDEXED BY attempts_waiting WHERE decided_at IS NULL AND account = ?
	AND (expires_at, id) > (?, ?) ORDER BY expires_at, id LIMIT ?`

func attemptRow(v *view[attempt.State]) []any {
	var decided any
	switch s := &v.state; {
	case s.Due():
		decided = s.DecidedAt.UnixMicro()
	case s.Decision != "":
		return nil
	}
	return []any{v.key.ID, string(v.key.Account), int64(v.revision), v.state.ExpiresAt.UnixMicro(), decided}
}

// AttemptWithTerms is a payment attempt with its client session and its token.
type AttemptWithTerms struct {
	Attempt    attempt.State
	Session    session.State
	Instrument instrument.State
}

// WaitingAttempts reads a page of at most limit payment attempts of an account that wait for a
// decision at a time, after from: those that expire first come first. It has everything that this
// node acknowledged.
func (p *Projections) WaitingAttempts(ctx context.Context, account domain.AccountID, now time.Time, from *listing.Place, limit int) (listing.Page[AttemptWithTerms], error) {
	return current(ctx, p, func(ctx context.Context) (page listing.Page[AttemptWithTerms], err error) {
		start := listing.Place{At: now, ID: afterAllIDs} // what expires now has expired
		if from != nil && from.At.After(now) {
			start = *from
		}
		found, err := filled(ctx, p, eventstore.Attempts, limit+1, func(m *model, last *attempt.State, most int) ([]rowKey, error) {
			if last != nil {
				start = *attemptPlace(*last)
			}
			return readKeys(ctx, m, func(id string) eventstore.Key { return eventstore.Attempts.Key(account, id) }, selectWaiting,
				string(account), start.At.UnixMicro(), start.ID, most)
		}, func(s *attempt.State) (bool, error) { return s.Status(now) == attempt.RequiresApproval, nil })
		if err != nil {
			return page, fmt.Errorf("projections: attempts: %w", err)
		}
		of := listing.PageOf(found, limit, attemptPlace)
		page.Next = of.Next
		if page.Data, err = p.withTerms(ctx, account, of.Data); err != nil {
			return page, fmt.Errorf("projections: attempts: %w", err)
		}
		return page, nil
	})
}

// AttemptWithTerms reads one payment attempt, linearizable as Payment. An attempt that is unknown
// or of another account is EntityNotFound.
func (p *Projections) AttemptWithTerms(ctx context.Context, account domain.AccountID, id domain.AttemptID) (AttemptWithTerms, error) {
	found, err := newest(ctx, p, eventstore.Attempts, account, string(id))
	if err == nil && !found.Exists() {
		err = attempt.NotFound()
	}
	if err != nil {
		return AttemptWithTerms{}, err
	}
	all, err := p.withTerms(ctx, account, []attempt.State{found})
	if err != nil {
		return AttemptWithTerms{}, unavailable(fmt.Errorf("projections: attempt: %w", err))
	}
	return all[0], nil
}

// withTerms reads the sessions and the tokens of attempts.
func (p *Projections) withTerms(ctx context.Context, account domain.AccountID, found []attempt.State) ([]AttemptWithTerms, error) {
	of, tokens := make([]rowKey, len(found)), make([]rowKey, len(found))
	for i, a := range found {
		of[i].key, tokens[i].key = eventstore.Sessions.Key(account, string(a.Session)), eventstore.Instruments.Key(account, string(a.Token))
	}
	sessions, err := tips(ctx, p.Store, eventstore.Sessions, of)
	if err != nil {
		return nil, err
	}
	instruments, err := tips(ctx, p.Store, eventstore.Instruments, tokens)
	if err != nil {
		return nil, err
	}
	all := make([]AttemptWithTerms, len(found))
	for i, a := range found {
		all[i] = AttemptWithTerms{a, sessions[i], instruments[i]}
	}
	return all, nil
}

// afterAllIDs is greater than every id.
const afterAllIDs = "\U0010ffff"

func attemptPlace(s attempt.State) *listing.Place {
	return &listing.Place{At: s.ExpiresAt, ID: string(s.ID)}
}
