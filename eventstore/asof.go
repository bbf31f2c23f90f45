package eventstore

import (
	"context"
	"fmt"
	"time"

	"payledger/domain"
	"payledger/eventstore/format"
)

// AsOf returns the state that an aggregate had at a time, by the times of its events. The same log always gives the same
// state. tip is the newest event of the aggregate. If tip is nil, or the first event is after at, the state is zero.
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

// Before returns an address that is below all events of a shard from a time on. Readers use it to leave out older events.
// It is a binary search. The times of a shard's events grow only roughly: the caller subtracts a slack.
func (s *Store) Before(ctx context.Context, shard int, at time.Time) (uint64, error) {
	end, _ := s.shard[shard].end()
	last := format.GroupOf(end.Last)
	low, high := uint64(0), last // groups up to low are before at, those past high are not
	for low < high {
		middle := low + (high-low+1)/2
		g, err := s.shard[shard].eventsAt(ctx, middle, last)
		if err != nil {
			return 0, err
		}
		if g.Seq <= high && g.Frames[0].Time.Before(at) {
			low = g.Seq
		} else {
			high = middle - 1
		}
	}
	return format.At(low, 0), nil
}

// eventsAt returns the first group with events from seq on; the one at last has some.
func (h *shard) eventsAt(ctx context.Context, seq, last uint64) (*format.Group, error) {
	for ; ; seq++ {
		g, err := h.readGroup(ctx, seq)
		if err != nil || len(g.Frames) > 0 {
			return g, err
		}
		if seq >= last {
			return nil, fmt.Errorf("%w: %s has no event at %d", ErrUnhealthy, h.name(), seq)
		}
	}
}
