package notifier

import (
	"context"

	"payledger/eventstore"
)

// reading gives the event at a place in the log.
type reading = func(ctx context.Context, shard int, seq uint64) (*eventstore.Recorded, error)

// KindsOf gives the webhooks that an event may cause, from its headers alone: others that act on events go by the same
// table (D19). An event that this build does not know is an error.
func KindsOf(r *eventstore.Recorded) ([]string, error) {
	row, err := candidates(r)
	if err != nil || len(row) == 0 {
		return nil, err
	}
	kinds := make([]string, len(row))
	for i, c := range row {
		kinds[i] = string(c.kind)
	}
	return kinds, nil
}

// Causes tells whether an event causes a webhook of the kind; read gives the event before it.
func Causes(ctx context.Context, store *eventstore.Store, r *eventstore.Recorded, kind string, read reading) (bool, error) {
	row, err := candidates(r)
	if err != nil {
		return false, err
	}
	for _, c := range row {
		if string(c.kind) == kind {
			return holdsReading(ctx, store, r, c.when, read)
		}
	}
	return false, nil
}

// Post sends a workflow's HTTP request: once, guarded and limited as a webhook is, and not signed. A signature says
// that a body is a webhook of ours, and these go wherever a workflow says (D19). An error means that ctx ended first.
func (n *Notifier) Post(ctx context.Context, url, idempotencyKey string, body []byte) (DeliveryAttempt, error) {
	return n.sender.attempt(ctx, message{url: url, test: body, idempotencyKey: idempotencyKey})
}
