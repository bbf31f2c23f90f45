package history

import (
	"context"
	"time"

	"payledger/eventstore"
)

// piece is the number of events in memory at a time. An event takes at most 512 KiB.
const piece = 32

// trail visits an aggregate's events from the first one. It finds them by reading backwards from
// the newest event, in pieces. Of each piece it keeps only the event after the piece, without its
// body, and reads the piece again when it visits the events.
type trail struct {
	store eventstore.Events
	ends  []*eventstore.Recorded // the event after each piece, newest first; ends[0] is the tip
	first []*eventstore.Recorded // the oldest piece
	times []time.Time            // of all events, by revision from 1
}

func follow(ctx context.Context, store eventstore.Events, tip *eventstore.Recorded) (*trail, error) {
	t := &trail{store: store, times: make([]time.Time, tip.Revision)}
	t.ends = []*eventstore.Recorded{tip}
	for end := tip; ; {
		t.times[end.Revision-1] = end.Time
		if end.Revision == 1 {
			return t, nil
		}
		events, err := store.Since(ctx, end, max(end.Revision, piece+1)-piece)
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
		end = events[0] // with its body: the next call checks its hash
		light := *end
		light.Body = nil
		t.ends = append(t.ends, &light)
	}
}

func (t *trail) each(ctx context.Context, last uint64, visit func(context.Context, *eventstore.Recorded) error) error {
	visitAll := func(events []*eventstore.Recorded) error {
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
	if err := visitAll(t.first); err != nil {
		return err
	}
	t.first = nil
	for i := len(t.ends) - 1; i > 0; i-- { // the piece from this end to the next newer one
		if t.ends[i].Revision > last {
			return nil
		}
		events, err := t.store.Since(ctx, t.ends[i-1], t.ends[i].Revision)
		if err != nil {
			return err
		}
		if err := visitAll(events[:len(events)-1]); err != nil {
			return err
		}
	}
	return visitAll(t.ends[:1])
}
