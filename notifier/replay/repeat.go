package replay

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"slices"

	"payledger/domain"
	"payledger/domain/webhook"
	"payledger/eventstore"
	"payledger/projections/deliveries"
)

// idFor returns the id of a requested replay. All requests of an account with the same idempotency
// key have the same id.
func (r *Replayer) idFor(q deliveries.ReplayRequest) (string, error) {
	if q.Key == "" {
		return eventstore.NewUUID(r.Random)
	}
	sum := sha256.Sum256([]byte("webhook replay\x00" + string(q.Account) + "\x00" + q.Key))
	return eventstore.NewUUID(bytes.NewReader(sum[:]))
}

// earlierReplay is the record that an earlier request with the same idempotency key left.
type earlierReplay struct {
	record
	at     uint64 // place of the record; 0: there is none
	stands bool   // the replay runs or has run; if not, its start was cut short, and it never runs
}

func (r *Replayer) earlier(ctx context.Context, q deliveries.ReplayRequest) (e earlierReplay, err error) {
	if q.Key == "" {
		return e, nil
	}
	id, err := r.idFor(q)
	if err != nil {
		return e, err
	}
	stored, err := r.Stream.Last(ctx, nameOf(q.Account, id))
	if errors.Is(err, eventstore.ErrNotFound) {
		return e, nil
	}
	if err == nil {
		e.at = stored.Seq
		e.record, err = decode(stored)
	}
	e.stands = e.State != deliveries.ReplayRunning
	if err == nil && !e.stands {
		var list openList
		list, _, err = r.openList(ctx)
		e.stands = slices.Contains(list.Open, e.name())
	}
	if err != nil {
		return e, deliveries.Unreadable(err)
	}
	return e, nil
}

// replayOrConflict returns the earlier replay for a repeat of its request, and refuses another
// request. It returns the error of earlier.
func (e earlierReplay) replayOrConflict(q deliveries.ReplayRequest, err error) (deliveries.Replay, error) {
	if err != nil {
		return deliveries.Replay{}, err
	}
	asked := slices.Sorted(slices.Values(q.EventTypes))
	same := e.Endpoint == q.Endpoint && e.From.Equal(q.From) && e.To.Equal(q.To) && e.OnlyFailed == q.OnlyFailed
	if same && len(asked) > 0 {
		same = slices.EqualFunc(slices.Compact(asked), e.Kinds, func(a string, k webhook.Kind) bool { return a == string(k) })
	}
	if !same {
		err := domain.Refuse(domain.KindConflict, domain.ReasonIdempotencyKeyExists, "Another replay was started with this X-Idempotency-Key: %s.", e.ID)
		err.Recovery = "GET /management/webhook-replays/" + e.ID + " shows that replay. Use another X-Idempotency-Key for another replay."
		return deliveries.Replay{}, err
	}
	return e.value(), nil
}
