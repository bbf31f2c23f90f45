package ordered

import (
	"context"
	"fmt"

	"payledger/eventstore"
)

type place struct{ address, position uint64 }

// Aggregate calls handle with the events of one aggregate after a position that have a position. It reads no other events: it
// walks back from the aggregate's newest event. ErrNotFound of eventstore means that the aggregate does not exist. It returns
// the last position that handle was called with, or after.
func (l *Log) Aggregate(ctx context.Context, key eventstore.Key, after uint64, handle func(Event) error) (uint64, error) {
	order, err := l.store.Checkpoints().Order(ctx)
	if err != nil {
		return after, fmt.Errorf("ordered: %w", err)
	}
	tip, err := l.store.Load(ctx, key, eventstore.Latest)
	if err != nil {
		return after, err
	}
	var places []place // newest first
	for r := tip; ; {
		position, covered, err := order.Position(ctx, r)
		if err != nil {
			return after, fmt.Errorf("ordered: %w", err)
		}
		if covered && position <= after {
			break
		}
		if covered {
			places = append(places, place{r.Seq, position})
		}
		if r.PrevSeq == 0 {
			break
		}
		if r, err = l.of(ctx, key, r.Shard, r.PrevSeq); err != nil {
			return after, err
		}
	}
	for i := len(places) - 1; i >= 0; i-- {
		r, err := l.of(ctx, key, tip.Shard, places[i].address)
		if err == nil {
			err = handle(Event{r, places[i].position})
		}
		if err != nil {
			return after, err
		}
		after = places[i].position
	}
	return after, nil
}

func (l *Log) of(ctx context.Context, key eventstore.Key, shard int, address uint64) (*eventstore.Recorded, error) {
	r, err := l.store.Read(ctx, shard, address)
	if err == nil && r.Key != key {
		err = fmt.Errorf("%w: %s at address %d of shard %d, not %s", eventstore.ErrUnhealthy, r.Key, address, shard, key)
	}
	return r, err
}
