package notifier

import (
	"context"
	"fmt"
	"time"

	"payledger/eventstore/due"
)

// readPosition returns the address of the last planned event of each shard. Events whose deliveries were dropped count as planned.
func readPosition(ctx context.Context, s stream, shards int) ([]uint64, error) {
	log, err := s.Load(ctx, plannerName)
	if err != nil {
		return nil, fmt.Errorf("notifier: %w", err)
	}
	floor := s.Floor().Log
	for shard := range min(shards, len(floor)) {
		log[shard] = max(log[shard], floor[shard])
	}
	return log, nil
}

func (n *Notifier) savePosition(ctx context.Context) []uint64 {
	durable, err := n.position.Save(ctx)
	switch {
	case err == nil:
		n.health.Clear(positionProblem)
	case ctx.Err() == nil && n.health.Set(positionProblem, err):
		n.Logger.Error().Err(err).Msg("the notifier's position is not written")
	}
	return durable
}

const (
	// plannedTime bounds the wait for the planner, and plannedRetry is the time between two reads of its position.
	plannedTime  = 5 * time.Second
	plannedRetry = 5 * time.Millisecond
)

// Planned waits until the planner reaches the current end of the event log, for plannedTime at most, and returns that end.
func (n *Notifier) Planned(ctx context.Context) ([]uint64, error) {
	ends := make([]uint64, n.Store.Shards())
	for shard := range ends {
		var err error
		if ends[shard], err = n.Store.LastSeq(ctx, shard); err != nil {
			return nil, err
		}
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
