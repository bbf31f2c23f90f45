package notifier

import (
	"context"
	"fmt"
	"time"

	"payledger/eventstore"
	"payledger/eventstore/due"
	"payledger/eventstore/position"
)

// openPosition returns the planner's position. Events whose deliveries were dropped count as
// planned.
func openPosition(ctx context.Context, s stream, shards int) (*position.Position, error) {
	p, err := position.Open(ctx, s, plannerName, shards)
	if err != nil {
		return nil, fmt.Errorf("notifier: %w", err)
	}
	p.Raise(s.Floor().Log)
	return p, nil
}

// savePosition writes the position if it is ahead of the stored one, and returns the stored one.
func (n *Notifier) savePosition(ctx context.Context) []uint64 {
	stored, err := n.position.Save(ctx)
	n.positionSaved(ctx, err)
	return stored
}

func (n *Notifier) positionSaved(ctx context.Context, err error) {
	switch {
	case err == nil:
		n.health.Clear(positionProblem)
	case ctx.Err() == nil && n.health.Set(positionProblem, err):
		n.Logger.Error().Err(err).Msg("the notifier's position is not written")
	}
}

const (
	// plannedTime bounds the wait for the planner, and plannedRetry is the time between two reads
	// of its position.
	plannedTime  = 5 * time.Second
	plannedRetry = 5 * time.Millisecond
)

// Planned waits until the planner reaches the current end of the event log, for plannedTime at
// most, and returns that end.
func (n *Notifier) Planned(ctx context.Context) ([]uint64, error) {
	ends, err := eventstore.Ends(ctx, n.Store)
	if err != nil {
		return nil, err
	}
	for limit := time.Now().Add(n.plannedTime); ; {
		if !behind(n.position.At(), ends) || time.Now().After(limit) {
			return ends, nil
		}
		if err := due.Rest(ctx, plannedRetry, nil); err != nil {
			return nil, err
		}
	}
}

func behind(at, ends []uint64) bool {
	for shard, end := range ends {
		if at[shard] < end {
			return true
		}
	}
	return false
}
