package notifier

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"payledger/eventstore"
	"payledger/notifier/health"
)

// positionEvery is the time between two writes of the position. After a crash the events of that time are planned again,
// which changes nothing, because their deliveries exist.
const positionEvery = 250 * time.Millisecond

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

// progress is the planner's position.
type progress struct {
	mu  sync.Mutex
	log []uint64
}

// advance moves the position past events whose deliveries are durable and in their lanes.
func (p *progress) advance(events []*eventstore.Recorded) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range events {
		p.log[r.Shard] = max(p.log[r.Shard], r.Seq)
	}
}

func (p *progress) at() []uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.log)
}

// positionWriter writes the position.
type positionWriter struct {
	stream   stream
	progress *progress
	health   *health.Health
	log      zerolog.Logger

	mu      sync.Mutex
	written []uint64 // the durable position
}

// run writes the position as it changes, until ctx ends.
func (k *positionWriter) run(ctx context.Context) {
	tick := time.NewTicker(positionEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			k.save(ctx)
		}
	}
}

// save writes the position if it changed, and returns the durable position. After a failure the next tick tries again; a
// crash before that repeats some planning.
func (k *positionWriter) save(ctx context.Context) []uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	at := k.progress.at()
	if slices.Equal(at, k.written) {
		return k.written
	}
	if err := k.stream.Save(ctx, plannerName, at); err != nil {
		if ctx.Err() == nil && k.health.Set(positionProblem, err) {
			k.log.Error().Err(err).Msg("the notifier's position is not written")
		}
		return k.written
	}
	k.health.Clear(positionProblem)
	k.written = at
	return at
}

// positionProblem is the name of problems with the position, in Notifier.health.
const positionProblem = "position"

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
		at := n.planner.progress.at()
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
