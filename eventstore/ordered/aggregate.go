package ordered

import (
	"context"
	"fmt"

	"payledger/eventstore"
)

type place struct {
	address, position uint64
	hash              eventstore.Hash
}

// Aggregate calls handle with the events of one aggregate after a position that have a position. It
// reads no other events: it walks back from the aggregate's newest event. ErrNotFound of eventstore
// means that the aggregate does not exist. It returns the last position that handle was called
// with, or after.
func (l *Log) Aggregate(ctx context.Context, key eventstore.Key, after uint64, handle func(Event) error) (uint64, error) {
	order, err := l.store.Checkpoints().Order(ctx)
	if err != nil {
		return after, fmt.Errorf("ordered: %w", err)
	}
	tip, err := l.store.Load(ctx, key, eventstore.Latest)
	if err != nil {
		return after, err
	}
	var places []place         // newest first
	var before eventstore.Hash // of the event before them; zeroes for the first
	for r := tip; ; {
		position, covered, err := order.Position(ctx, r)
		if err != nil {
			return after, fmt.Errorf("ordered: %w", err)
		}
		if covered && position <= after {
			before = r.Hash
			break
		}
		if covered {
			places = append(places, place{r.Seq, position, r.Hash})
		}
		if r.PrevSeq == 0 {
			break
		}
		if r, err = l.store.Previous(ctx, r); err != nil {
			return after, err
		}
	}
	for i := len(places) - 1; i >= 0; i-- {
		p := places[i]
		r, err := l.store.ReadAs(ctx, tip.Shard, p.address, p.hash, before)
		if err == nil {
			err = handle(Event{r, p.position})
		}
		if err != nil {
			return after, err
		}
		after, before = p.position, p.hash
	}
	return after, nil
}
