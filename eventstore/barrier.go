package eventstore

import (
	"context"
	"errors"
	"strconv"
	"time"

	"payledger/domain"
)

// BarrierRaised is the log's own event: nothing but a place in a shard that its PubAck makes durable.
type BarrierRaised struct {
	At time.Time `json:"at"`
}

// Type is the event's name in the log.
func (BarrierRaised) Type() string { return "log.barrier_raised" }

// BarrierState counts a shard's barriers.
type BarrierState struct {
	Count uint64 `json:"count"`
}

// Barriers is the aggregate of the log itself, one per shard, under the account "system".
var Barriers = NewAggregate("barrier", 1, []BarrierRaised{{}}, func(s BarrierState, _ BarrierRaised) BarrierState {
	s.Count++
	return s
})

// barrierKey finds the first small number whose hash falls into the shard.
func barrierKey(shard, shards int) Key {
	for n := 0; ; n++ {
		if id := strconv.Itoa(n); domain.Shard(id, shards) == shard {
			return Barriers.Key(systemAccount, id)
		}
	}
}

// barrier appends one barrier, trying again until ctx ends. It need not be known which try succeeds, nor
// whether an earlier one stands as well: any PubAck covers what came before it.
func (s *Store) barrier(ctx context.Context, shard int) error {
	key := barrierKey(shard, s.shards)
	for {
		seq, err := s.raiseBarrier(ctx, key, shard)
		if err == nil {
			s.durable[shard].raise(seq)
			return nil
		}
		if s.sick.Load() != nil || s.nc.IsClosed() || s.pause(ctx, resolvePause) != nil {
			return err
		}
	}
}

func (s *Store) raiseBarrier(ctx context.Context, key Key, shard int) (uint64, error) {
	tip, err := s.tipAtLeader(ctx, key, shard)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return 0, err
	}
	meta, err := s.NewMeta("system", "log")
	if err != nil {
		return 0, err
	}
	r, _, err := draft(Barriers, key, shard, tip, meta, BarrierRaised{At: meta.At})
	if err != nil {
		return 0, err
	}
	seq, _, err := s.publish(ctx, r)
	return seq, err
}
