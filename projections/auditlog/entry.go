package auditlog

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"strings"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore"
	"payledger/eventstore/checkpointlog"
	"payledger/eventstore/format"
	"payledger/eventstore/ordered"
	"payledger/projections/jsondiff"
	"payledger/projections/paymentjson"
	"payledger/projections/sqlitefile"
)

// Entry is an entry of the audit log.
type Entry struct {
	At        paymentjson.Time `json:"at"`
	Actor     string           `json:"actor"`               // user:<id>, api_key:<id>, cli:<command>, process:<name>
	ActorName string           `json:"actorName,omitempty"` // of the user or the key, also of a removed one
	Action    string           `json:"action"`              // the type of the event
	What      Subject          `json:"what"`
	From      string           `json:"from,omitempty"`     // the client's address
	EventID   string           `json:"eventId"`            // of the event
	RequestID string           `json:"requestId"`          // of the request
	Position  *uint64          `json:"position,omitempty"` // in the log; absent while no checkpoint covers the event

	Changed []jsondiff.Change `json:"changed,omitempty"` // the subject's fields, before and after
}

// Reader reads entries.
type Reader struct {
	Store   ordered.Store
	DB      *sql.DB
	Account domain.AccountID

	order *checkpointlog.Order
	state fact              // of the account, newest
	names map[string]string // of actors
}

// Entries returns the entries of rows.
func (e *Reader) Entries(ctx context.Context, rows []Row) ([]Entry, error) {
	all := make([]Entry, len(rows))
	for i, row := range rows {
		var err error
		if all[i], err = e.entry(ctx, row); err != nil {
			return nil, fmt.Errorf("auditlog: event %s: %w", row.ID, err)
		}
	}
	return all, nil
}

func (e *Reader) entry(ctx context.Context, row Row) (Entry, error) {
	r, err := e.Store.Read(ctx, row.Shard, row.Seq)
	if err != nil {
		return Entry{}, err
	}
	if r.Account != e.Account || r.EventID != row.ID {
		return Entry{}, fmt.Errorf("%w: another event is at its place", sqlitefile.ErrStale)
	}
	event, err := factOf(r)
	if err != nil {
		return Entry{}, err
	}
	one := Entry{
		At: paymentjson.Time{Time: r.Time}, Actor: r.Actor, Action: r.Type, EventID: r.EventID, RequestID: r.CorrelationID,
		From: r.Origin(),
	}
	if strings.HasPrefix(r.Type, "account.user") { // a sign-in has the address in the event
		one.From = cmp.Or(one.From, event.text("from"))
	}
	if one.What, err = e.subject(ctx, r, event); err != nil {
		return Entry{}, err
	}
	if one.Changed, err = e.changed(ctx, r, one.What); err != nil {
		return Entry{}, err
	}
	if one.ActorName, err = e.actor(ctx, r.Actor); err != nil {
		return Entry{}, err
	}
	one.Position, err = e.position(ctx, r)
	return one, err
}

// subject returns the thing that an event changed, with its name: from the event, or from the state
// after it or before it.
func (e *Reader) subject(ctx context.Context, r *eventstore.Recorded, event fact) (Subject, error) {
	what := subjectOf(r, event)
	var lists []string
	for _, s := range subjects {
		if what.Kind == s.kind {
			lists = s.list
		}
	}
	if what.Name != "" || lists == nil && r.Aggregate != eventstore.Payments.Name {
		return what, nil
	}
	state, err := stateOf(r)
	if err != nil {
		return what, err
	}
	if r.Aggregate == eventstore.Payments.Name {
		what.Name = state.text("orderId")
		return what, nil
	}
	if what.Name = state.named(lists, what.ID); what.Name != "" || r.PrevSeq == 0 {
		return what, nil
	}
	before, err := e.Store.Read(ctx, r.Shard, r.PrevSeq)
	if err != nil {
		return what, err
	}
	state, err = stateOf(before)
	what.Name = state.named(lists, what.ID)
	return what, err
}

func stateOf(r *eventstore.Recorded) (fact, error) {
	_, stored, err := format.Bodies(r)
	return decoded(stored, err)
}

// actor returns the name of a user or an API key; "" for other actors.
func (e *Reader) actor(ctx context.Context, actor string) (string, error) {
	kind, id, _ := strings.Cut(actor, ":")
	if kind != "api_key" && kind != "user" || id == "" {
		return "", nil
	}
	if name, known := e.names[actor]; known {
		return name, nil
	}
	name, err := e.actorName(ctx, kind, id)
	if e.names == nil {
		e.names = map[string]string{}
	}
	e.names[actor] = name
	return name, err
}

func (e *Reader) loadState(ctx context.Context) error {
	if e.state != nil {
		return nil
	}
	newest, err := e.Store.Load(ctx, eventstore.Accounts.Key(e.Account, string(e.Account)), eventstore.Applied)
	if err == nil {
		e.state, err = stateOf(newest)
	}
	return err
}

var userLists = []string{"users", "removedUsers"}

// actorName looks a name up: in the newest state of the account, or else in the event that made the
// key or the user.
func (e *Reader) actorName(ctx context.Context, kind, id string) (string, error) {
	if err := e.loadState(ctx); err != nil {
		return "", err
	}
	lists, made := []string{"apiKeys"}, []any{(account.APIKeyCreated{}).Type(), (account.Created{}).Type()}
	if kind == "user" {
		lists, made[0] = userLists, (account.UserAdded{}).Type()
	}
	if name := e.state.named(lists, id); name != "" {
		return name, nil
	}
	for _, subject := range []string{id, string(e.Account)} { // the account's first key and user are in the event that made the account
		rows, err := sqlitefile.Read(ctx, e.DB, scan, selectSubject, append([]any{string(e.Account), subject}, made...)...)
		if err != nil {
			return "", err
		}
		for _, row := range rows {
			name, err := e.namedIn(ctx, row, id)
			if err != nil || name != "" {
				return name, err
			}
		}
	}
	return "", nil
}

func (e *Reader) namedIn(ctx context.Context, row Row, id string) (string, error) {
	r, err := e.Store.Read(ctx, row.Shard, row.Seq)
	if err != nil {
		return "", err
	}
	event, err := factOf(r)
	for _, field := range []string{"apiKey", "user"} {
		if event.text(field, "id") == id {
			return event.text(field, "name"), err
		}
	}
	return "", err
}

// position returns the position of an event; nil while no checkpoint covers it.
func (e *Reader) position(ctx context.Context, r *eventstore.Recorded) (*uint64, error) {
	if e.order == nil {
		order, err := e.Store.Checkpoints().Order(ctx)
		if err != nil {
			return nil, err
		}
		e.order = &order
	}
	position, covered, err := e.order.Position(ctx, r)
	if err != nil || !covered {
		return nil, err
	}
	return &position, nil
}
