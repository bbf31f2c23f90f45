package engine

import (
	"context"
	"fmt"
	"time"

	"payledger/eventstore/fault"
	"payledger/eventstore/format"
)

// Before returns an address below all events of a shard from a time on. Their times grow only
// roughly: the caller subtracts a slack. Events of a while in which a node's clock was further
// ahead are above the address, too, unless more groups than the while has are between both.
func (s *Store) Before(ctx context.Context, shard int, at time.Time) (uint64, error) {
	h, last := s.newestIn(shard)
	before, err := h.lastBefore(ctx, at, 0, last, last)
	for step := uint64(1); err == nil && step < before; {
		var g *format.Group
		g, err = h.firstWithEvents(ctx, before-step, last)
		switch {
		case err != nil:
		case !g.Frames[0].Time.Before(at):
			before, err = h.lastBefore(ctx, at, 0, g.Seq-1, last)
			step = 1
		default:
			step *= 2
		}
	}
	return format.At(before, 0), err
}

// Through returns an address with all events of a shard before a time at or below it. Their times
// grow only roughly: the caller adds a slack. A while in which a node's clock was further ahead
// ends nothing, unless fewer groups than it has follow it in the range.
func (s *Store) Through(ctx context.Context, shard int, at time.Time) (uint64, error) {
	h, last := s.newestIn(shard)
	through, err := h.lastBefore(ctx, at, 0, last, last)
	for step := uint64(1); err == nil && through < last; {
		var g *format.Group
		g, err = h.firstWithEvents(ctx, min(through+step, last), last)
		switch {
		case err != nil:
		case g.Frames[0].Time.Before(at):
			through, err = h.lastBefore(ctx, at, g.Seq, last, last)
			step = 1
		case through+step >= last:
			return format.At(through, format.MaxFrames-1), nil
		default:
			step *= 2
		}
	}
	return format.At(through, format.MaxFrames-1), err
}

// newestIn returns a shard and its newest group with events; 0: it has none.
func (s *Store) newestIn(shard int) (h *shard, last uint64) {
	end, _ := s.shard[shard].end()
	return s.shard[shard], format.GroupOf(end.Last)
}

// lastBefore returns the last group up to through that begins before a time, and at least before,
// as if the times of groups grew. The group at last has events.
func (h *shard) lastBefore(ctx context.Context, at time.Time, before, through, last uint64) (uint64, error) {
	for before < through {
		middle := before + (through-before+1)/2
		g, err := h.firstWithEvents(ctx, middle, last)
		if err != nil {
			return 0, err
		}
		if g.Seq <= through && g.Frames[0].Time.Before(at) {
			before = g.Seq
		} else {
			through = middle - 1
		}
	}
	return before, nil
}

// firstWithEvents returns the first group with events from seq on; the one at last has some.
func (h *shard) firstWithEvents(ctx context.Context, seq, last uint64) (*format.Group, error) {
	for ; ; seq++ {
		g, err := h.Group(ctx, seq)
		if err != nil || len(g.Frames) > 0 {
			return g, err
		}
		if seq >= last {
			return nil, fmt.Errorf("%w: %s has no event at %d", fault.ErrUnhealthy, h.name(), seq)
		}
	}
}
