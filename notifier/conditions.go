package notifier

import (
	"context"
	"fmt"

	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore"
)

// holds tells whether an event causes a webhook. It reads nothing but the log, and of that only what the
// condition needs.
func holds(ctx context.Context, store *eventstore.Store, r *eventstore.Recorded, when condition) (bool, error) {
	return holdsReading(ctx, store, r, when, store.Read)
}

// holdsReading is holds with a way of its own to read the event before.
func holdsReading(ctx context.Context, store *eventstore.Store, r *eventstore.Recorded, when condition, read reading) (bool, error) {
	if when == always {
		return true, nil
	}
	after, err := eventstore.StateAt(ctx, store, eventstore.Payments, r)
	if err != nil {
		return false, err
	}
	switch when {
	case waitBegins:
		return waits(after), nil
	case actionShows:
		return uncovered(after), nil
	}
	before, err := statusBefore(ctx, store, r, read)
	return before != after.Status(), err
}

// waits tells whether a payment waits for its asynchronous processor, or for its customer.
func waits(s payment.State) bool {
	return s.Status() == payment.StatusPending && (s.Waiting() || s.RequiredAction() != nil)
}

// uncovered tells whether the customer's action shows for the first time now that a void failed: the void was
// requested by the event that brought the action, at its time. A cancel that came later hid an action that was told.
func uncovered(s payment.State) bool {
	if s.RequiredAction() == nil {
		return false
	}
	last := s.NewestRequest()
	return last.Kind == processor.Void && last.RequestedAt.Equal(s.Authorization().Answer().At)
}

// statusBefore gives the payment's status before an event: that of the state in the event before it. The most
// frequent event, the answer to the first request, needs no look: what was just created is PENDING.
func statusBefore(ctx context.Context, store *eventstore.Store, r *eventstore.Recorded, read reading) (payment.Status, error) {
	if r.Revision <= 2 {
		return payment.StatusPending, nil
	}
	previous, err := read(ctx, r.Shard, r.PrevSeq)
	if err != nil {
		return "", fmt.Errorf("notifier: the event before, at sequence %d: %w", r.PrevSeq, err)
	}
	if previous.Key != r.Key || previous.Revision != r.Revision-1 {
		return "", fmt.Errorf("notifier: %w: %s revision %d follows %s revision %d", eventstore.ErrUnhealthy,
			r.Key, r.Revision, previous.Key, previous.Revision)
	}
	state, err := eventstore.StateAt(ctx, store, eventstore.Payments, previous)
	return state.Status(), err
}
