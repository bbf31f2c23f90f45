package eventstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// tailSize is how many of a shard's newest events a sole writer remembers for its readers.
	tailSize = 1024
	// tailPatience is how long an event that is missing among the newest ones is waited for: the goroutine
	// that appended it has its PubAck and only has to run.
	tailPatience = 20 * time.Millisecond
)

// tail holds the newest events of one shard that this store appended, by sequence. A sole writer's readers
// take them from here instead of having the server send back what was just sent to it.
type tail struct {
	mu     sync.Mutex
	events [tailSize]*Recorded
	newest uint64
	grown  chan struct{} // closed by the next put; nil when nobody waits for it
}

func (t *tail) put(r *Recorded) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events[r.Seq%tailSize] = r
	t.newest = max(t.newest, r.Seq)
	if t.grown != nil {
		close(t.grown)
		t.grown = nil
	}
}

func (t *tail) get(seq uint64) *Recorded {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.find(seq)
}

func (t *tail) find(seq uint64) *Recorded {
	if r := t.events[seq%tailSize]; r != nil && r.Seq == seq {
		return r
	}
	return nil
}

// look gives the event at seq if it is held. If it is not, but may come any moment because a newer one is
// held, grown is closed by the next event that comes; else grown is nil.
func (t *tail) look(seq uint64) (r *Recorded, grown <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.find(seq); r != nil || t.newest < seq || t.newest-seq >= tailSize {
		return r, nil
	}
	if t.grown == nil {
		t.grown = make(chan struct{})
	}
	return nil, t.grown
}

// soon is get with tailPatience: PubAcks of two appends may be seen in the other order.
func (t *tail) soon(ctx context.Context, seq uint64) *Recorded {
	r, grown := t.look(seq)
	if grown == nil {
		return r
	}
	late := time.NewTimer(tailPatience)
	defer late.Stop()
	for grown != nil {
		select {
		case <-grown:
			r, grown = t.look(seq)
		case <-late.C:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
	return r
}

// errCaughtUp ends a subscription where the tail begins.
var errCaughtUp = errors.New("eventstore: caught up with the tail")

// follow is Subscribe for a sole writer: what is durable and remembered is handed out from memory, what is
// older is read from the stream. The order and the absence of gaps come from the sequence alone.
func (s *Store) follow(ctx context.Context, shard int, after uint64, handle func(*Recorded) error) error {
	durable, tail := s.durable[shard], s.tails[shard]
	for next := after + 1; ; {
		done, changed := durable.reached(next)
		if !done {
			select {
			case <-changed:
			case <-ctx.Done():
				return ctx.Err()
			}
			continue
		}
		if r := tail.soon(ctx, next); r != nil {
			if err := handle(r); err != nil {
				return err
			}
			next++
			continue
		}
		var err error
		if next, err = s.catchUp(ctx, shard, next, handle); err != nil {
			return err
		}
	}
}

// catchUp reads from the stream until the tail holds the next event or nothing durable is left, and gives
// the sequence to go on with.
func (s *Store) catchUp(ctx context.Context, shard int, next uint64, handle func(*Recorded) error) (uint64, error) {
	sub := &subscription{store: s, shard: shard, next: next}
	reached := next
	sub.handle = func(r *Recorded) error {
		if err := handle(r); err != nil {
			return err
		}
		reached = r.Seq + 1
		if done, _ := s.durable[shard].reached(reached); !done || s.tails[shard].get(reached) != nil {
			return errCaughtUp
		}
		return nil
	}
	err := sub.keep(ctx)
	if errors.Is(err, errCaughtUp) {
		err = nil
	}
	return reached, err
}

// keep runs the subscription, and makes it anew whenever it breaks.
func (sub *subscription) keep(ctx context.Context) error {
	s := sub.store
	for {
		err := sub.run(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case sub.failed != nil:
			return sub.failed
		case s.nc.IsClosed():
			return fmt.Errorf("eventstore: subscription to %s: %w", streamName(sub.shard), nats.ErrConnectionClosed)
		}
		s.log.Debug().Err(err).Int("shard", sub.shard).Uint64("next", sub.next).Msg("subscription broke; making it anew")
		if err := s.pause(ctx, resubscribePause); err != nil {
			return err
		}
	}
}
