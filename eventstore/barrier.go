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

// barrier appends one barrier; another node's barrier that comes first does as well, once it is read at
// the leader and this one is acknowledged behind it.
func (s *Store) barrier(ctx context.Context, shard int) error {
	key := barrierKey(shard, s.shards)
	for {
		tip, err := s.tipAtLeader(ctx, key, shard)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		meta, err := s.NewMeta("system", "log")
		if err != nil {
			return err
		}
		r, _, err := draft(Barriers, key, shard, tip, meta, BarrierRaised{At: meta.At})
		if err != nil {
			return err
		}
		if err = s.append(ctx, r); !errors.Is(err, ErrConflict) {
			return err
		}
	}
}
