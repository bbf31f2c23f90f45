package history

import (
	"context"
	"errors"
	"fmt"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/eventstore"
	"payledger/eventstore/checkpointlog"
	"payledger/eventstore/format"
	"payledger/eventstore/ordered"
	"payledger/eventstore/secrets"
	"payledger/projections/eventjson"
	"payledger/projections/jsondiff"
	"payledger/projections/paymentjson"
)

// Entry is one event of a payment, replayed.
type Entry struct {
	Revision      uint64              `json:"revision"`
	Position      *uint64             `json:"position,omitempty"` // from 1; left out while no checkpoint covers the event
	Time          paymentjson.Time    `json:"time"`
	Type          string              `json:"type"`
	Actor         string              `json:"actor"`               // as eventjson.Actor returns it
	ActorName     string              `json:"actorName,omitempty"` // of the API key, also a revoked one, or of the workflow
	CommandID     string              `json:"commandId"`
	CorrelationID string              `json:"correlationId"`
	Event         map[string]any      `json:"event"`   // the fact as recorded; personal data stays sealed, the session id is a fingerprint
	Payment       paymentjson.Payment `json:"payment"` // after the event
	Moved         Moved               `json:"moved,omitzero"`
	Changed       []jsondiff.Change   `json:"changed"`
	Waiting       []Waiting           `json:"waiting,omitempty"`       // open operations and actions after the event
	Notices       []Notice            `json:"notifications,omitempty"` // received after the event and before the next event (D14.5)
	PreviousHash  string              `json:"previousHash"`            // of the payment's event before; 64 zeroes for the first
	Hash          string              `json:"hash"`                    // SHA-256 over the bytes of PreviousHash and Raw, hexadecimal
	Raw           []byte              `json:"raw"`                     // the event's bytes in the log, beginning with its attributes
	Beside
}

// Reader replays payments.
type Reader struct {
	Store   ordered.Store
	Secrets *secrets.Store
	Now     func() time.Time // after which a payment has no state yet
	// First6Digits reports whether an account opted in to first6Digits (§2.2); nil: no account did.
	First6Digits func(context.Context, domain.AccountID) (bool, error)
	// NextLookup returns the time at which a running server sends its next query about an operation
	// to the processor; requested is zero for an operation that waits for its customer. nil: no
	// server runs.
	NextLookup func(key domain.OperationKey, requested time.Time) (time.Time, bool)
	Deliveries Deliveries // nil: no event has its webhooks
}

// Part selects a part of a payment's history.
type Part struct {
	At    At     // where the history ends
	After uint64 // the part begins after this revision; 0: with the first event
	Limit int    // of entries; 0: no limit

	Expand []string // the further parts of each entry: ExpandWebhooks, …
}

// ErrFull of an emit function ends the part behind the entry that it took.
var ErrFull = errors.New("history: the part is full")

// Payment replays a payment and calls emit with each entry of a part, oldest first. An error of
// emit ends the replay. next is the revision after which more entries follow; 0: there are no more.
// For a payment that is unknown or of another account, and for the claim of an idempotency key
// (D9), the error is the domain's PaymentError. ErrNotThere: the payment has no revision for At.
// ErrFuture: the time of At is in the future. These errors come before the first entry.
func (h *Reader) Payment(ctx context.Context, account domain.AccountID, id domain.PaymentID, part Part, emit func(Entry) error) (next uint64, err error) {
	tip, err := eventstore.Load(ctx, h.Store, eventstore.Payments, eventstore.Payments.Key(account, string(id)), eventstore.Latest)
	if err != nil {
		return 0, fmt.Errorf("history: %w", err)
	}
	if !tip.State.Exists() {
		return 0, payment.NotFound()
	}
	t, err := follow(ctx, h.Store, tip.Recorded)
	if err != nil {
		return 0, fmt.Errorf("history: %w", err)
	}
	end, err := part.At.end(t.times, h.Now)
	if err != nil {
		return 0, err
	}
	if part.After >= end {
		return 0, nil
	}
	last := end
	if part.Limit > 0 && part.After+uint64(part.Limit) < end {
		last = part.After + uint64(part.Limit)
		next = last
	}
	r := &replay{
		Reader: h, after: part.After, last: last, newest: tip.Recorded.Revision, emit: emit,
		actors: actors{store: h.Store, account: account}, expand: part.Expand,
	}
	if err := r.prepare(ctx, account, id, end == r.newest, t.times); err != nil {
		return 0, err
	}
	err = t.each(ctx, last, r.event)
	if errors.Is(err, ErrFull) {
		next, err = r.state.Revision, nil
		if next == end {
			next = 0
		}
	}
	return next, err
}

type replay struct {
	*Reader
	after, last    uint64 // entries after the revision after, up to last, are emitted
	newest         uint64
	emit           func(Entry) error
	options        paymentjson.Options
	order          checkpointlog.Order
	notices        map[uint64][]Notice // by the revision of the event before them
	state          payment.State
	before         any   // the Payment JSON before the event
	amounts        Moved // before the event
	actors         actors
	expand         []string
	link, previous eventstore.Hash // of the last folded event, and of the event before it
}

func (r *replay) prepare(ctx context.Context, account domain.AccountID, id domain.PaymentID, whole bool, times []time.Time) (err error) {
	r.options.Events = true
	if r.First6Digits != nil {
		if r.options.First6Digits, err = r.First6Digits(ctx, account); err != nil {
			return fmt.Errorf("history: settings: %w", err)
		}
	}
	if !eventstore.Demands(ctx, eventstore.Applied) { // a checkpoint is read at a majority
		if r.order, err = r.Store.Checkpoints().Order(ctx); err != nil {
			return fmt.Errorf("history: positions: %w", err)
		}
	}
	if whole {
		r.notices, err = r.notifications(ctx, id, times)
	}
	return err
}

func (r *replay) event(ctx context.Context, e *eventstore.Recorded) error {
	fact, err := eventstore.Payments.Event(e)
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	r.state = payment.Evolve(r.state, fact)
	r.previous, r.link = r.link, e.Hash
	if e.Revision < r.after {
		return nil
	}
	personal, err := r.Secrets.Open(ctx, r.state.Details().Personal)
	if err != nil {
		return fmt.Errorf("history: personal data of %s: %w", e.Key, err)
	}
	shown := paymentjson.Render(r.state, personal, r.options)
	after, err := jsondiff.Tree(shown)
	if err != nil {
		return err
	}
	changed, moved := jsondiff.Of(r.before, after), amounts(r.state).since(r.amounts)
	r.before, r.amounts = after, amounts(r.state)
	if e.Revision == r.after {
		return nil
	}
	entry, err := r.entry(ctx, e)
	if err != nil {
		return err
	}
	if entry.Beside, err = r.beside(ctx, e, fact, entry.Event); err != nil {
		return err
	}
	entry.Payment, entry.Changed, entry.Moved = shown, changed, moved
	return r.emit(entry)
}

func (r *replay) entry(ctx context.Context, e *eventstore.Recorded) (Entry, error) {
	generic, _, err := format.Generic(e)
	if err != nil {
		return Entry{}, fmt.Errorf("history: %w", err)
	}
	name, err := r.actors.name(ctx, e)
	if err != nil {
		return Entry{}, err
	}
	event := dates(generic).(map[string]any)
	if id, is := event["sessionId"].(string); is {
		event["sessionId"] = eventjson.Fingerprint(id)
	}
	entry := Entry{
		Revision: e.Revision, Time: paymentjson.Time{Time: e.Time}, Type: e.Type, Actor: eventjson.Actor(e.Actor), ActorName: name,
		CommandID: e.CommandID, CorrelationID: e.CorrelationID, Event: event,
		Waiting: waiting(r.state), Notices: r.notices[e.Revision], Hash: e.Hash.String(),
		PreviousHash: r.previous.String(), Raw: e.Raw(),
	}
	if e.Revision == r.newest {
		r.schedule(&entry)
	}
	if eventstore.Demands(ctx, eventstore.Applied) {
		return entry, nil
	}
	position, covered, err := r.order.Position(ctx, e)
	if err != nil {
		return Entry{}, fmt.Errorf("history: %w", err)
	}
	if covered {
		entry.Position = &position
	}
	return entry, nil
}

// dates converts the times in a decoded event to the format of D1, and leaves out the fields
// without a value.
func dates(v any) any {
	switch v := v.(type) {
	case time.Time:
		return paymentjson.Time{Time: v}
	case map[string]any:
		for k, field := range v {
			switch {
			case k == "metadata": // the merchant's own: it has no times
			case eventjson.NoValue(k, field):
				delete(v, k)
			default:
				v[k] = dates(field)
			}
		}
	case []any:
		for i := range v {
			v[i] = dates(v[i])
		}
	}
	return v
}
