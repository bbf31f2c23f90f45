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
	"payledger/domain/webhook"
	"payledger/domain/workflow"
	"payledger/eventstore"
	"payledger/eventstore/format"
	"payledger/projections/auditlog"
	"payledger/projections/transactions"
)

// place is the position of a shard: the address and the number of its last applied event, and the event's hash to
// recognise the log.
type place struct {
	seq    uint64 // address: addresses grow, but not by one
	number uint64 // of events, without a gap
	hash   eventstore.Hash
}

// view is an aggregate at its newest event.
type view[S any] struct {
	key      eventstore.Key
	shard    int
	seq      uint64
	revision uint64
	before   uint64 // the revision of its row before the batch; 0: there is none yet
	state    S
	event    *eventstore.Recorded // the state after it is still to be decoded; nil: state is whole
}

// decode makes the state whole.
func decode[S any, E domain.Event](a *eventstore.Aggregate[S, E], v *view[S]) (err error) {
	if v.event != nil {
		if v.state, err = a.State(v.event); err == nil { // not decoded where this process made it
			v.event = nil
		}
	}
	return err
}

// errIncomplete means that an event of an older schema has no usable state, and that the state before it is not in memory.
var errIncomplete = errors.New("projections: the state before the event is needed")

// apply folds one event into a view, and leaves the state to decode. It is pure; an event that the view already shows changes
// nothing.
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
	next.state = a.Evolve(v.state, e)
	return next, nil
}

// views are the newest views of one kind in a batch, in the order of their first event. A batch writes each row once.
type views[S any] struct {
	list []view[S]
	at   map[string]int
}

func decodeAll[S any, E domain.Event](a *eventstore.Aggregate[S, E], vs *views[S]) error {
	for i := range vs.list {
		if err := decode(a, &vs.list[i]); err != nil {
			return err
		}
	}
	return nil
}

func foldInto[S any, E domain.Event](ctx context.Context, b *batch, a *eventstore.Aggregate[S, E], vs *views[S], r *eventstore.Recorded) error {
	i, there := vs.at[r.ID]
	var v view[S]
	if there {
		v = vs.list[i]
	}
	next, err := apply(a, v, r)
	if errors.Is(err, errIncomplete) {
		next, err = refold(ctx, b.store, a, r)
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

// refold builds the view of an event of an older schema from all events of its aggregate.
func refold[S any, E domain.Event](ctx context.Context, store *eventstore.Store, a *eventstore.Aggregate[S, E], r *eventstore.Recorded) (view[S], error) {
	v := view[S]{key: r.Key, shard: r.Shard, seq: r.Seq, revision: r.Revision, before: r.Revision - 1}
	var err error
	v.state, err = eventstore.StateAt(ctx, store, a, r)
	return v, err
}

// batch is the result of folding some events.
type batch struct {
	store       *eventstore.Store
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

// fold adds one event. An event at or below the shard's place was applied before and changes nothing; a gap is an error.
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
	var err error
	switch r.Aggregate {
	case eventstore.Payments.Name:
		err = foldInto(ctx, b, eventstore.Payments, &b.payments, r)
	case eventstore.Sessions.Name:
		err = foldInto(ctx, b, eventstore.Sessions, &b.sessions, r)
		if err == nil {
			err = b.noteNaming(r)
		}
	case eventstore.Instruments.Name:
		if mayBeVaulted(r) {
			err = foldInto(ctx, b, eventstore.Instruments, &b.instruments, r)
		}
	case eventstore.Attempts.Name:
		err = foldInto(ctx, b, eventstore.Attempts, &b.attempts, r)
	case eventstore.WorkflowRuns.Name:
		err = foldInto(ctx, b, eventstore.WorkflowRuns, &b.runs, r)
	case eventstore.Accounts.Name:
		err = foldInto(ctx, b, eventstore.Accounts, &b.accounts, r)
	case eventstore.Disputes.Name:
		err = foldInto(ctx, b, eventstore.Disputes, &b.disputes, r)
	case eventstore.Inboxes.Name:
		err = foldInto(ctx, b, eventstore.Inboxes, &b.inboxes, r)
	case eventstore.Persons.Name:
		err = foldInto(ctx, b, eventstore.Persons, &b.persons, r)
	}
	if err == nil {
		err = b.note(r)
	}
	if err != nil {
		return err
	}
	*at = place{seq: r.Seq, number: r.Number, hash: r.Hash}
	b.events++
	return nil
}

// note remembers the rows that depend on the event alone.
func (b *batch) note(r *eventstore.Recorded) error {
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
	return cmp.Or(decodeAll(eventstore.Payments, &b.payments), decodeAll(eventstore.Sessions, &b.sessions),
		decodeAll(eventstore.Instruments, &b.instruments), decodeAll(eventstore.Attempts, &b.attempts),
		decodeAll(eventstore.WorkflowRuns, &b.runs), decodeAll(eventstore.Accounts, &b.accounts),
		decodeAll(eventstore.Disputes, &b.disputes), decodeAll(eventstore.Inboxes, &b.inboxes), decodeAll(eventstore.Persons, &b.persons))
}

// folded returns the batch of some events that follow places. The state is decoded once for each aggregate. At an event that cannot
// be applied, folded returns the batch of the events before it, and a *poison.
func folded(ctx context.Context, store *eventstore.Store, places []place, events []*eventstore.Recorded) (*batch, error) {
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

// vocabulary is the schema and the event types of an aggregate that this build knows.
type vocabulary struct {
	schema int
	types  map[string]bool
}

// vocabularies lists every aggregate of the log, also those without a view. An unknown event stops the projection: it may
// change a view in a way that this build does not know.
var vocabularies = map[string]vocabulary{
	eventstore.Payments.Name:     words(eventstore.Payments.Schema, payment.Events()),
	eventstore.Sessions.Name:     words(eventstore.Sessions.Schema, session.Events()),
	eventstore.Instruments.Name:  words(eventstore.Instruments.Schema, instrument.Events()),
	eventstore.Attempts.Name:     words(eventstore.Attempts.Schema, attempt.Events()),
	eventstore.Accounts.Name:     words(eventstore.Accounts.Schema, account.Events()),
	eventstore.Disputes.Name:     words(eventstore.Disputes.Schema, dispute.Events()),
	eventstore.Inboxes.Name:      words(eventstore.Inboxes.Schema, inbox.Events()),
	eventstore.Persons.Name:      words(eventstore.Persons.Schema, person.Events()),
	eventstore.Logs.Name:         words(eventstore.Logs.Schema, []eventstore.LogInitialized{{}}),
	eventstore.Workflows.Name:    words(eventstore.Workflows.Schema, workflow.Events()),
	eventstore.WorkflowRuns.Name: words(eventstore.WorkflowRuns.Schema, workflow.RunEvents()),
	eventstore.Webhooks.Name:     words(eventstore.Webhooks.Schema, webhook.Events()),
}

func words[E domain.Event](schema int, events []E) vocabulary {
	v := vocabulary{schema: schema, types: map[string]bool{}}
	for _, e := range events {
		v.types[e.Type()] = true
	}
	return v
}

// understood returns an error for an event that this build does not know.
func understood(r *eventstore.Recorded) error {
	v, known := vocabularies[r.Aggregate]
	switch {
	case !known:
		return fmt.Errorf("%w: aggregate %q", format.ErrUnknownEvent, r.Aggregate)
	case r.Schema > v.schema:
		return fmt.Errorf("%w: schema %d, known is %d", format.ErrNewerSchema, r.Schema, v.schema)
	case !v.types[r.Type]:
		return fmt.Errorf("%w: %s", format.ErrUnknownEvent, r.Type)
	}
	return nil
}

// Row is the row of an aggregate in the read model.
type Row struct {
	Table  string
	Values []any // in the order of the columns, the aggregate's id first; nil: the aggregate has no row
}

// RowOf returns the row that the read model must have for an aggregate, given its newest event and the state after it. It
// returns false for an aggregate without a table. A payment's row has no e-mail hash if the person was erased: this is not
// known here.
func RowOf(key eventstore.Key, shard int, seq, revision uint64, state any) (Row, bool) {
	row := func(table string, there bool, values func() []any) (Row, bool) {
		if !there {
			return Row{Table: table}, true
		}
		return Row{table, values()}, true
	}
	switch s := state.(type) {
	case payment.State:
		v := view[payment.State]{key: key, shard: shard, seq: seq, revision: revision, state: s}
		return row("payments", s.Exists(), func() []any { return paymentRow(&v) })
	case session.State:
		return row("sessions", true, func() []any { return sessionRow(&view[session.State]{key: key, state: s}) })
	case instrument.State:
		v := view[instrument.State]{key: key, revision: revision, state: s}
		return row("instruments", s.Vaulted(), func() []any { return instrumentRow(&v) })
	case attempt.State:
		return row("attempts", s.Due(), func() []any { return attemptRow(&view[attempt.State]{key: key, state: s}) })
	case dispute.State:
		v := view[dispute.State]{key: key, revision: revision, state: s}
		return row("disputes", s.Exists(), func() []any { return disputeRow(&v) })
	case inbox.State:
		return row("inboxes", len(s.Waiting()) > 0, func() []any { return inboxRow(&view[inbox.State]{key: key, state: s}) })
	case person.State:
		return row("persons", true, func() []any { return personRow(&view[person.State]{key: key, state: s}) })
	case workflow.RunState:
		v := view[workflow.RunState]{key: key, revision: revision, state: s}
		return row("runs", true, func() []any { return rowOfRun(&v) })
	case account.State:
		return row("accounts", true, func() []any { return []any{key.ID, int64(revision)} })
	default:
		return Row{}, false
	}
}

// StateOf returns the state after an event of an aggregate with a table; nil for any other.
func StateOf(ctx context.Context, store *eventstore.Store, r *eventstore.Recorded) (any, error) {
	switch r.Aggregate {
	case eventstore.Payments.Name:
		return eventstore.StateAt(ctx, store, eventstore.Payments, r)
	case eventstore.Sessions.Name:
		return eventstore.StateAt(ctx, store, eventstore.Sessions, r)
	case eventstore.Instruments.Name:
		return eventstore.StateAt(ctx, store, eventstore.Instruments, r)
	case eventstore.Attempts.Name:
		return eventstore.StateAt(ctx, store, eventstore.Attempts, r)
	case eventstore.Disputes.Name:
		return eventstore.StateAt(ctx, store, eventstore.Disputes, r)
	case eventstore.Inboxes.Name:
		return eventstore.StateAt(ctx, store, eventstore.Inboxes, r)
	case eventstore.Persons.Name:
		return eventstore.StateAt(ctx, store, eventstore.Persons, r)
	case eventstore.WorkflowRuns.Name:
		return eventstore.StateAt(ctx, store, eventstore.WorkflowRuns, r)
	case eventstore.Accounts.Name:
		return eventstore.StateAt(ctx, store, eventstore.Accounts, r)
	default:
		return nil, nil
	}
}
