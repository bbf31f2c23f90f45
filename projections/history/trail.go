package history

import (
	"context"
	"time"

	"payledger/eventstore"
)

// piece is how many events of a payment are in memory at a time: a long-lived payment's events take 512 KiB each at most.
const piece = 32

// trail is the way through an aggregate's events: they are found by walking back from the newest, and handed on from the
// first. Events that are not in memory are read twice; of each piece only the event behind it is kept, without its body.
type trail struct {
	store *eventstore.Store
	ends  []*eventstore.Recorded // the event behind each piece, the newest first: the tip
	first []*eventstore.Recorded // the oldest piece, which the walk came to last
	times []time.Time            // of all events, by revision from 1
}

// follow walks back from the tip to the first event.
func follow(ctx context.Context, store *eventstore.Store, tip *eventstore.Recorded) (*trail, error) {
	t := &trail{store: store, times: make([]time.Time, tip.Revision)}
	for end := tip; ; {
		t.ends = append(t.ends, end)
		t.times[end.Revision-1] = end.Time
		if end.Revision == 1 {
			return t, nil
		}
		events, err := store.Since(ctx, end, start(end.Revision))
		if err != nil {
			return nil, err
		}
		for _, r := range events {
			t.times[r.Revision-1] = r.Time
		}
		if events[0].Revision == 1 {
			t.first = events[:len(events)-1]
			return t, nil
		}
		light := *events[0]
		light.Body = nil
		end = &light
	}
}

// start is the first revision of the piece before a revision.
func start(end uint64) uint64 {
	if end <= piece {
		return 1
	}
	return end - piece
}

// each hands on the events up to a revision, the first one first.
func (t *trail) each(ctx context.Context, last uint64, visit func(context.Context, *eventstore.Recorded) error) error {
	hand := func(events []*eventstore.Recorded) error {
		for _, r := range events {
			if r.Revision > last {
				return nil
			}
			if err := visit(ctx, r); err != nil {
				return err
			}
		}
		return nil
	}
	if err := hand(t.first); err != nil {
		return err
	}
	t.first = nil
	for i := len(t.ends) - 1; i > 0; i-- { // the piece between this end, which it begins with, and the next newer one
		if t.ends[i].Revision > last {
			return nil
		}
		events, err := t.store.Since(ctx, t.ends[i-1], t.ends[i].Revision)
		if err != nil {
			return err
		}
		if err := hand(events[:len(events)-1]); err != nil {
			return err
		}
	}
	return hand(t.ends[:1])
}
