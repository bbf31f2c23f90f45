package notifier

import (
	"context"
	"fmt"
	"time"
)

// readPosition returns the address of the last planned event of each shard. Even if the position was lost, events whose
// deliveries were dropped count as planned.
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

// positionProblem is the name of problems with the position, in Notifier.health.
const positionProblem = "position"

// savePosition writes the position if it changed, and returns the durable position.
func (n *Notifier) savePosition(ctx context.Context) []uint64 {
	durable, err := n.position.Save(ctx)
	switch {
	case err == nil:
		n.health.Clear(positionProblem)
	case ctx.Err() == nil && n.health.Set(positionProblem, err):
		n.log.Error().Err(err).Msg("the notifier's position is not written")
	}
	return durable
}

const (
	// plannedTime bounds the wait for the planner, and plannedRetry is the time between two reads of its position.
	plannedTime  = 5 * time.Second
	plannedRetry = 5 * time.Millisecond
)

// Planned waits until the planner reaches the present end of the log, for plannedTime at most, and returns the planner's
// position. Webhooks of later events are not missing: the planner plans them.
func (n *Notifier) Planned(ctx context.Context) ([]uint64, error) {
	ends := make([]uint64, n.store.Shards())
	for shard := range ends {
		var err error
		if ends[shard], err = n.store.LastSeq(ctx, shard); err != nil {
			return nil, err
		}
	}
	limit := time.NewTimer(plannedTime)
	defer limit.Stop()
	look := time.NewTicker(plannedRetry)
	defer look.Stop()
	for {
		at := n.position.At()
		if !behind(at, ends) {
			return at, nil
		}
		select {
		case <-look.C:
		case <-limit.C:
			return at, nil
		case <-ctx.Done():
			return nil, ctx.Err()
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
