package history

import (
	"context"
	"errors"
	"fmt"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/eventstore"
	"payledger/eventstore/secrets"
	"payledger/projections"
)

// Entry is one event of a payment, replayed.
type Entry struct {
	Revision      uint64              `json:"revision"`
	Position      *uint64             `json:"position"` // from 1; null while no checkpoint covers the event
	Time          projections.Time    `json:"time"`
	Type          string              `json:"type"`
	Actor         string              `json:"actor"`
	CommandID     string              `json:"commandId"`
	CorrelationID string              `json:"correlationId"`
	Event         map[string]any      `json:"event"`   // the fact as recorded; personal data stays sealed
	Payment       projections.Payment `json:"payment"` // after the event
	Changed       []Change            `json:"changed"`
	Waiting       []Waiting           `json:"waiting,omitempty"`       // what the payment waits for after the event
	Notices       []Notice            `json:"notifications,omitempty"` // that came after the event and before the next (D14)
	Hash          string              `json:"hash"`                    // hexadecimal link of the hash chain
}

// Reader replays payments.
type Reader struct {
	Store *eventstore.Store
	Vault *secrets.Vault
	// First6Digits tells whether an account opted in to first6Digits (§2.2); nil: none did.
	First6Digits func(domain.AccountID) bool
	// Running says that checkpoints are being written: one that is due soon is waited for.
	Running bool
	// NextAsk tells when a running server asks the processor about an operation next; nil where none runs.
	NextAsk func(domain.OperationKey) (time.Time, bool)
}

const (
	// positionWait is how long the newest event's checkpoint is waited for: I2 promises it in 250 ms.
	positionWait = time.Second
	// positionRetry is how often it is asked for: checkpoints announce themselves to nobody.
	positionRetry = 50 * time.Millisecond
)

// Payment replays a payment up to `at`. An unknown payment, one of another account, and the claim of an
// idempotency key, which is none (D9), are the domain's PaymentError; ErrNotThere means that `at` names
// nothing of it.
func (h *Reader) Payment(ctx context.Context, account domain.AccountID, id domain.PaymentID, at At) ([]Entry, error) {
	events, err := h.Store.History(ctx, eventstore.Payments.Key(account, string(id)))
	if errors.Is(err, eventstore.ErrNotFound) || err == nil && events[0].Type == (payment.KeyClaimed{}).Type() {
		return nil, payment.Unknown()
	}
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	newest := len(events)
	if events, err = at.cut(events); err != nil {
		return nil, err
	}
	entries, err := h.replay(ctx, account, events)
	if err != nil {
		return nil, err
	}
	if len(entries) == newest {
		h.schedule(&entries[newest-1])
		told, err := h.notices(ctx, id)
		if err != nil {
			return nil, err
		}
		attach(entries, told)
	}
	return entries, h.place(ctx, events, entries)
}

// replay folds the events and renders the payment after each.
func (h *Reader) replay(ctx context.Context, account domain.AccountID, events []*eventstore.Recorded) ([]Entry, error) {
	options := projections.RenderOptions{Events: true, First6Digits: h.First6Digits != nil && h.First6Digits(account)}
	entries := make([]Entry, 0, len(events))
	var state payment.State
	var before any
	for _, r := range events {
		fact, err := eventstore.Payments.Event(r)
		if err != nil {
			return nil, fmt.Errorf("history: %w", err)
		}
		state = payment.Evolve(state, fact)
		personal, err := h.Vault.Open(ctx, state.Personal)
		if err != nil {
			return nil, fmt.Errorf("history: personal data of %s: %w", r.Key, err)
		}
		generic, _, err := eventstore.Generic(r)
		if err != nil {
			return nil, fmt.Errorf("history: %w", err)
		}
		e := Entry{
			Revision: r.Revision, Time: projections.Time{Time: r.Time}, Type: r.Type, Actor: r.Actor,
			CommandID: r.CommandID, CorrelationID: r.CorrelationID, Event: dates(generic).(map[string]any),
			Payment: projections.RenderPayment(state, personal, options), Waiting: waiting(state), Hash: r.Hash.String(),
		}
		after, err := tree(e.Payment)
		if err != nil {
			return nil, err
		}
		e.Changed, before = diff(before, after), after
		entries = append(entries, e)
	}
	return entries, nil
}

// dates makes the times in a decoded event go out as D1 says.
func dates(v any) any {
	switch v := v.(type) {
	case time.Time:
		return projections.Time{Time: v}
	case map[string]any:
		for k := range v {
			v[k] = dates(v[k])
		}
	case []any:
		for i := range v {
			v[i] = dates(v[i])
		}
	}
	return v
}

// place fills in the positions. A checkpoint that covers the newest event covers all before it.
func (h *Reader) place(ctx context.Context, events []*eventstore.Recorded, entries []Entry) error {
	newest := len(events) - 1
	if h.Running {
		if err := h.awaitPosition(ctx, events[newest]); err != nil {
			return err
		}
	}
	for i, r := range events {
		position, err := h.Store.Position(ctx, r.Shard, r.Seq)
		if errors.Is(err, eventstore.ErrNotFound) {
			return nil // nor are those after it covered
		}
		if err != nil {
			return fmt.Errorf("history: position: %w", err)
		}
		entries[i].Position = &position
	}
	return nil
}

// awaitPosition returns when a checkpoint covers r, or positionWait is over.
func (h *Reader) awaitPosition(ctx context.Context, r *eventstore.Recorded) error {
	retry, over := time.NewTicker(positionRetry), time.NewTimer(positionWait)
	defer retry.Stop()
	defer over.Stop()
	for {
		_, err := h.Store.Position(ctx, r.Shard, r.Seq)
		if !errors.Is(err, eventstore.ErrNotFound) {
			return err
		}
		select {
		case <-retry.C:
		case <-over.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
