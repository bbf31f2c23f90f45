package eventstore

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// durability is the highest sequence of a shard that is known to be on disk: the highest that a PubAck
// named, since a one-replica stream syncs in order.
type durability struct {
	mu      sync.Mutex
	acked   uint64
	changed chan struct{} // closed and replaced whenever acked grows
	fence   sync.Mutex    // one barrier at a time
}

func newDurability() *durability { return &durability{changed: make(chan struct{})} }

func (d *durability) raise(seq uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if seq <= d.acked {
		return
	}
	d.acked = seq
	close(d.changed)
	d.changed = make(chan struct{})
}

// next is the sequence after the highest one known to be durable.
func (d *durability) next() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.acked + 1
}

// Appended is the newest event of a shard that this store knows to be durable: at least every one whose
// append it has acknowledged. It asks nobody; what other nodes append it learns of when it appends itself.
func (s *Store) Appended(shard int) uint64 { return s.durable[shard].next() - 1 }

// reached tells whether seq is durable; if not, the channel closes at the next change.
func (d *durability) reached(seq uint64) (bool, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return seq <= d.acked, d.changed
}

const (
	// barrierDelay is how long a reader waits for the writer's own PubAck before it makes sure itself.
	barrierDelay = 100 * time.Millisecond
	// durableDeadline is how long the disk may take; then what was read cannot be trusted, and the
	// process stops.
	durableDeadline = 5 * time.Second
)

// waitDurable returns when the event at seq is known to be on disk. A one-replica server shows an event
// before, and even without, its sync; so a reader takes nothing as a fact that no PubAck covers. With
// replicas what a reader sees is committed by a quorum.
func (s *Store) waitDurable(ctx context.Context, shard int, seq uint64) error {
	if s.replicas > 1 || s.readOnly {
		return nil
	}
	d := s.durable[shard]
	done, changed := d.reached(seq)
	if done {
		return nil
	}
	timer := time.NewTimer(barrierDelay)
	defer timer.Stop()
	for {
		select {
		case <-changed:
			if done, changed = d.reached(seq); done {
				return nil
			}
		case <-timer.C:
			return s.fenceShard(ctx, shard, seq)
		case <-ctx.Done():
			return fmt.Errorf("eventstore: %s %d not known to be durable: %w", streamName(shard), seq, ctx.Err())
		}
	}
}

// fence makes everything that the log shows durable; part of every start.
func (s *Store) fence(ctx context.Context) error {
	if s.replicas > 1 {
		return nil
	}
	errs := make(chan error, s.shards)
	for shard := range s.shards {
		go func() {
			last, err := s.LastSeq(ctx, shard)
			if err == nil && last > 0 {
				err = s.fenceShard(ctx, shard, last)
			}
			errs <- err
		}()
	}
	var first error
	for range s.shards {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

// fenceShard appends a barrier to the shard: its PubAck covers every message before it. When none comes
// in durableDeadline the process must stop: others may act on what is not on disk.
func (s *Store) fenceShard(ctx context.Context, shard int, seq uint64) error {
	d := s.durable[shard]
	d.fence.Lock()
	defer d.fence.Unlock()
	if done, _ := d.reached(seq); done {
		return nil
	}
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), durableDeadline)
	defer cancel()
	err := s.barrier(own, shard)
	if done, _ := d.reached(seq); done {
		return nil
	}
	err = fmt.Errorf("%s: event %d is not known to be on disk after %s: %w", streamName(shard), seq, durableDeadline, err)
	if s.sick.Load() == nil && s.nc.IsConnected() { // else the disk was not asked
		s.fail(err, true)
	}
	return fmt.Errorf("%w: %w", ErrUnhealthy, err)
}

// diskAnswers asks an embedded server that left a publish unanswered for a PubAck of the shard: after a
// failed write the server stays up and answers no publish any more, so that only this ends the process.
func (s *Store) diskAnswers(ctx context.Context, shard int) bool {
	if s.embedded == nil || s.replicas > 1 {
		return true
	}
	return s.fenceShard(ctx, shard, s.durable[shard].next()) == nil
}
