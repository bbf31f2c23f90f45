package projections

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/attempt"
	"payledger/domain/dispute"
	"payledger/domain/inbox"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/domain/person"
	"payledger/domain/session"
	"payledger/domain/workflow"
	"payledger/eventstore"
	"payledger/eventstore/format"
	"payledger/projections/auditlog"
	"payledger/projections/transactions"
)

// place is the position of a shard: address and number of its last applied event, and the event's
// hash to recognise the log.
type place struct {
	seq    uint64 // address: addresses grow, but not by one
	number uint64 // of events, without a gap
	hash   eventstore.Hash
}

type view[S any] struct {
	key      eventstore.Key
	shard    int
	seq      uint64
	revision uint64
	before   uint64 // the revision of its row before the batch; 0: there is none yet
	state    S
	event    *eventstore.Recorded // the state after it is still to be decoded; nil: state is whole
}

func decode[S any, E domain.Event](a *eventstore.Aggregate[S, E], v *view[S]) (err error) {
	if v.event != nil {
		if v.state, err = a.State(v.event); err == nil { // not decoded where this process made it
			v.event = nil
		}
	}
	return err
}

// errIncomplete means that an event of an older schema has no usable state, and that the state
// before it is not in memory.
var errIncomplete = errors.New("projections: the state before the event is needed")

// apply folds one event into a view, and leaves the state to decode. It is pure; an event that the
// view shows changes nothing.
func apply[S any, E domain.Event](a *eventstore.Aggregate[S, E], v view[S], r *eventstore.Recorded) (view[S], error) {
	if v.seq != 0 && r.Seq <= v.seq {
		return v, nil
	}
	if v.seq != 0 && r.Revision != v.revision+1 {
		return v, fmt.Errorf("revision %d follows %d", r.Revision, v.revision)
	}
	next := view[S]{key: r.Key, shard: r.Shard, seq: r.Seq, revision: r.Revision, before: v.before}
	if v.seq == 0 {
		next.before = r.Revision - 1
	}
	if r.Schema == a.Schema {
		next.event = r
		return next, nil
	}
	if err := decode(a, &v); err != nil {
		return v, err
	}
	if v.revision+1 != r.Revision {
		return v, errIncomplete
	}
	e, err := a.Event(r)
	if err != nil {
		return v, err
	}
	next.state, _ = a.Core.Evolve(v.state, e).(S)
	return next, nil
}

// views are the newest views of one kind in a batch, in the order of their first event. A batch
// writes each row once.
type views[S any] struct {
	list []view[S]
	at   map[string]int
}

func foldInto[S any, E domain.Event](ctx context.Context, b *batch, a *eventstore.Aggregate[S, E], vs *views[S], r *eventstore.Recorded) error {
	i, there := vs.at[r.ID]
	var v view[S]
	if there {
		v = vs.list[i]
	}
	next, err := apply(a, v, r)
	if errors.Is(err, errIncomplete) {
		next = view[S]{key: r.Key, shard: r.Shard, seq: r.Seq, revision: r.Revision, before: r.Revision - 1}
		next.state, err = eventstore.StateAt(ctx, b.store, a, r) // from all events of the aggregate
	}
	if err == nil && b.eager {
		err = decode(a, &next)
	}
	switch {
	case err != nil:
		return err
	case there:
		vs.list[i] = next
	default:
		if vs.at == nil {
			vs.at = map[string]int{}
		}
		vs.at[r.ID] = len(vs.list)
		vs.list = append(vs.list, next)
	}
	return nil
}

type batch struct {
	store       eventstore.Untyped
	eager       bool    // decode the state after every event, and not only the newest of an aggregate
	places      []place // per shard, after the batch
	events      int
	payments    views[payment.State]
	sessions    views[session.State]
	instruments views[instrument.State]
	attempts    views[attempt.State]
	runs        views[workflow.RunState]
	accounts    views[account.State]
	disputes    views[dispute.State]
	inboxes     views[inbox.State]
	persons     views[person.State]
	namings     []naming
	audit       []auditlog.Row
	charged     []transactions.Row
}

// fold adds one event. An event at or below the shard's place was applied before and changes
// nothing; a gap is an error.
func (b *batch) fold(ctx context.Context, r *eventstore.Recorded) error {
	at := &b.places[r.Shard]
	if r.Seq <= at.seq {
		return nil
	}
	if r.Number != at.number+1 {
		return fmt.Errorf("event %d of the shard follows event %d", r.Number, at.number)
	}
	if err := understood(r); err != nil {
		return err
	}
	if fold := aggregates[r.Aggregate].fold; fold != nil {
		if err := fold(ctx, b, r); err != nil {
			return err
		}
	}
	if err := b.note(r); err != nil {
		return err
	}
	*at = place{seq: r.Seq, number: r.Number, hash: r.Hash}
	b.events++
	return nil
}

func (b *batch) note(r *eventstore.Recorded) error {
	if err := b.noteNaming(r); err != nil {
		return err
	}
	entry, is, err := auditlog.RowOf(r)
	if err != nil {
		return err
	}
	if is {
		b.audit = append(b.audit, entry)
	}
	row, is, err := transactions.RowOf(r)
	if is {
		b.charged = append(b.charged, row)
	}
	return err
}

// decode makes the states whole that the fold left to decode.
func (b *batch) decode() error {
	for _, a := range aggregates {
		if a.decode == nil {
			continue
		}
		if err := a.decode(b); err != nil {
			return err
		}
	}
	return nil
}

// folded returns the batch of some events that follow places. The state is decoded once for each
// aggregate. At an event that cannot be applied, folded returns the batch of the events before it,
// and a *poison.
func folded(ctx context.Context, store eventstore.Untyped, places []place, events []*eventstore.Recorded) (*batch, error) {
	b, err := foldEach(ctx, &batch{store: store, places: slices.Clone(places)}, events)
	if b.decode() != nil { // find the first event that is unreadable
		b, err = foldEach(ctx, &batch{store: store, places: slices.Clone(places), eager: true}, events)
	}
	return b, err
}

func foldEach(ctx context.Context, b *batch, events []*eventstore.Recorded) (*batch, error) {
	for _, r := range events {
		if err := b.fold(ctx, r); err != nil {
			return b, cmp.Or(ctx.Err(), error(&poison{event: r, err: err}))
		}
	}
	return b, nil
}

// aggregate is a kind of aggregate that this build knows. The functions are nil if the kind has no
// table.
type aggregate struct {
	schema int
	knows  func(eventType string) bool
	table  string
	fold   func(context.Context, *batch, *eventstore.Recorded) error
	decode func(*batch) error

	statements []string // that write a row and, if there is a second one, remove it; none: write is not used
	write      func(context.Context, *model, *batch) error

	row   func(key eventstore.Key, shard int, seq, revision uint64, state any) []any // nil: the aggregate has no row
	state func(context.Context, eventstore.Untyped, *eventstore.Recorded) (any, error)
}

// aggregates lists every aggregate of the log. An unknown event stops the projection: it may change
// a view unknown to this build.
var aggregates = map[string]aggregate{
	eventstore.Payments.Name: projected(eventstore.Payments, "payments", paymentRow, func(b *batch) *views[payment.State] { return &b.payments }),
	eventstore.Persons.Name:  projected(eventstore.Persons, "persons", personRow, func(b *batch) *views[person.State] { return &b.persons }),
	eventstore.Sessions.Name: projected(eventstore.Sessions, "sessions", sessionRow,
		func(b *batch) *views[session.State] { return &b.sessions }, upsertSession),
	eventstore.Instruments.Name: projected(eventstore.Instruments, "instruments", instrumentRow,
		func(b *batch) *views[instrument.State] { return &b.instruments }, upsertInstrument),
	eventstore.Attempts.Name: projected(eventstore.Attempts, "attempts", attemptRow,
		func(b *batch) *views[attempt.State] { return &b.attempts }, upsertAttempt, deleteAttempt),
	eventstore.Accounts.Name: projected(eventstore.Accounts, "accounts", accountRow,
		func(b *batch) *views[account.State] { return &b.accounts }, upsertAccount),
	eventstore.Disputes.Name: projected(eventstore.Disputes, "disputes", disputeRow,
		func(b *batch) *views[dispute.State] { return &b.disputes }, upsertDispute),
	eventstore.Inboxes.Name: projected(eventstore.Inboxes, "inboxes", inboxRow,
		func(b *batch) *views[inbox.State] { return &b.inboxes }, upsertInbox, deleteInbox),
	eventstore.WorkflowRuns.Name: projected(eventstore.WorkflowRuns, "runs", rowOfRun,
		func(b *batch) *views[workflow.RunState] { return &b.runs }, upsertRun),
	eventstore.Logs.Name:      {schema: eventstore.Logs.Schema, knows: eventstore.Logs.Core.Knows},
	eventstore.Workflows.Name: {schema: eventstore.Workflows.Schema, knows: eventstore.Workflows.Core.Knows},
	eventstore.Webhooks.Name:  {schema: eventstore.Webhooks.Schema, knows: eventstore.Webhooks.Core.Knows},
}

// projected returns a kind of aggregate with a table. row returns the values of its row, nil for
// none, and in the place of its views.
func projected[S any, E domain.Event](a *eventstore.Aggregate[S, E], table string, row func(*view[S]) []any, in func(*batch) *views[S], statements ...string) aggregate {
	return aggregate{
		schema: a.Schema, knows: a.Core.Knows, table: table, statements: statements,
		fold: func(ctx context.Context, b *batch, r *eventstore.Recorded) error {
			return foldInto(ctx, b, a, in(b), r)
		},
		decode: func(b *batch) error {
			list := in(b).list
			for i := range list {
				if err := decode(a, &list[i]); err != nil {
					return err
				}
			}
			return nil
		},
		write: func(ctx context.Context, m *model, b *batch) error {
			return writeRowsOf(ctx, m, in(b), row, statements)
		},
		row: func(key eventstore.Key, shard int, seq, revision uint64, state any) []any {
			return row(&view[S]{key: key, shard: shard, seq: seq, revision: revision, state: state.(S)})
		},
		state: func(ctx context.Context, store eventstore.Untyped, r *eventstore.Recorded) (any, error) {
			return eventstore.StateAt(ctx, store, a, r)
		},
	}
}

func understood(r *eventstore.Recorded) error {
	a, known := aggregates[r.Aggregate]
	switch {
	case !known:
		return fmt.Errorf("%w: aggregate %q", format.ErrUnknownEvent, r.Aggregate)
	case r.Schema > a.schema:
		return fmt.Errorf("%w: schema %d, known is %d", format.ErrNewerSchema, r.Schema, a.schema)
	case !a.knows(r.Type):
		return fmt.Errorf("%w: %s", format.ErrUnknownEvent, r.Type)
	}
	return nil
}

// Row is the row of an aggregate in the read model.
type Row struct {
	Table  string
	Values []any // in the order of the columns, the aggregate's id first; nil: the aggregate has no row
}

// RowOf returns the row that the read model must have for an aggregate, given its newest event and
// the state after it; false: it has no table. A payment's row has no e-mail hash if the person was
// erased: this is not known here.
func RowOf(key eventstore.Key, shard int, seq, revision uint64, state any) (Row, bool) {
	a := aggregates[key.Aggregate]
	if a.row == nil {
		return Row{}, false
	}
	return Row{a.table, a.row(key, shard, seq, revision, state)}, true
}

// StateOf returns the state after an event of an aggregate with a table; nil for any other.
func StateOf(ctx context.Context, store eventstore.Untyped, r *eventstore.Recorded) (any, error) {
	a := aggregates[r.Aggregate]
	if a.state == nil {
		return nil, nil
	}
	return a.state(ctx, store, r)
}
