package eventstore

import (
	"context"
	"fmt"
	"time"

	"payledger/domain"
)

// AsOf gives the state that an aggregate had at a time, by its events' own times: what stands in the log decides the
// same however often, and whenever, it is asked. tip is the aggregate's newest event; nil, or a first event after at,
// gives the zero state.
func AsOf[S any, E domain.Event](ctx context.Context, s *Store, a *Aggregate[S, E], tip *Recorded, at time.Time) (S, error) {
	var none S
	for r := tip; r != nil; {
		if !r.Time.After(at) {
			return StateAt(ctx, s, a, r)
		}
		if r.PrevSeq == 0 {
			return none, nil
		}
		previous, err := s.Read(ctx, r.Shard, r.PrevSeq)
		if err != nil {
			return none, fmt.Errorf("eventstore: %s before revision %d: %w", r.Key, r.Revision, err)
		}
		if previous.Key != r.Key || previous.Revision != r.Revision-1 {
			return none, fmt.Errorf("%w: %s revision %d points at %s revision %d", ErrUnhealthy, r.Key, r.Revision, previous.Key, previous.Revision)
		}
		r = previous
	}
	return none, nil
}
