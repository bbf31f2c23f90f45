package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"payledger/eventstore/due"
	"payledger/eventstore/fault"
	"payledger/eventstore/format"
	"payledger/eventstore/handover"
	"payledger/eventstore/jetapi"
)

const (
	pullMessages     = 64                     // messages that a consumer requests at once
	pullBytes        = 2 * minPayload         // the most bytes of them; more than the largest message
	pullHeartbeat    = time.Second            // between two heartbeats of an idle consumer
	pullExpiry       = 10 * time.Second       // lifetime of one request for messages
	resubscribePause = 100 * time.Millisecond // before a subscription that broke is made anew
	catchUpGroups    = 256                    // groups that a subscriber reads from the log before it reads from memory again
	// tailIdle is the silence of a segment after which its end is read: the server does not always
	// send the last message of a stream that was sealed meanwhile (tried). It is longer than two
	// missing heartbeats take.
	tailIdle = 3 * pullHeartbeat
)

// Subscribe implements eventstore.Subscribing.
func (s *Store) Subscribe(ctx context.Context, shard int, after uint64, handle func(*format.Recorded) error) error {
	h := s.shard[shard]
	events := func(g *format.Group) error {
		for _, r := range g.Frames {
			if r.Seq <= after {
				continue
			}
			if err := handle(r); err != nil {
				return err
			}
		}
		return ctx.Err()
	}
	return h.Follow(ctx, max(1, format.GroupOf(after)), events)
}

// Follow calls handle with the shard's groups from next on, until ctx ends or handle returns an
// error. It returns that error.
func (h *shard) Follow(ctx context.Context, next uint64, handle func(*format.Group) error) error {
	var failed error // of handle
	noted := func(g *format.Group) error {
		failed = handle(g)
		return failed
	}
	for {
		end, grown := h.end()
		if next > end.Seq {
			select {
			case <-grown:
				continue
			case <-h.s.gone:
				return fmt.Errorf("eventstore: reading %s: %w", h.name(), nats.ErrConnectionClosed)
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		through, err := h.Groups(ctx, next, end.Seq, noted)
		if err != nil {
			switch {
			case failed != nil:
				return failed
			case ctx.Err() != nil:
				return ctx.Err()
			case errors.Is(err, fault.ErrDropped): // by another process, which did not wait for this reader
				next = max(through, h.First())
				continue
			case errors.Is(err, fault.ErrUnhealthy):
				return err
			case h.s.nc.IsClosed():
				return fmt.Errorf("eventstore: reading %s: %w", h.name(), nats.ErrConnectionClosed)
			}
			h.s.log.Debug().Err(err).Int("shard", h.n).Uint64("next", through).Msg("reading the log broke; going on")
			if err := due.Rest(ctx, resubscribePause, nil); err != nil {
				return err
			}
		}
		next = through
	}
}

// Groups calls handle with groups from next up to end, and returns the sequence of the group after
// them.
func (h *shard) Groups(ctx context.Context, next, end uint64, handle func(*format.Group) error) (uint64, error) {
	if gs := h.from(next); len(gs) > 0 {
		for _, g := range gs {
			if err := handle(g); err != nil {
				return next, err
			}
			next++
		}
		return next, nil
	}
	err := h.readGroups(ctx, next, min(end, next+catchUpGroups-1), func(g *format.Group) error {
		err := handle(g)
		if err == nil {
			next++
		}
		return err
	})
	return next, err
}

// tail reads the groups that other nodes append to the shard, until ctx ends.
func (h *shard) tail(ctx context.Context) {
	for ctx.Err() == nil && h.healthy() == nil {
		last, err := h.lastAtLeader(ctx)
		if err == nil {
			err = h.readUpTo(ctx, last)
		}
		if err == nil {
			err = h.tailSegment(ctx)
		}
		if err != nil && ctx.Err() == nil {
			h.s.log.Debug().Err(err).Int("shard", h.n).Msg("following the log broke; going on")
		}
		if due.Rest(ctx, resubscribePause, nil) != nil {
			return
		}
	}
}

// tailSegment receives every message of the open segment, and applies its group.
func (h *shard) tailSegment(ctx context.Context) error {
	h.mu.Lock()
	seg, next, rolling := h.segments.Open(), h.head.Seq+1, h.segments.rolling // a group under way may never be stored
	h.mu.Unlock()
	if rolling { // its last group may have been read: no message would announce the next segment
		return nil
	}
	consumer, err := h.s.api.JS.CreateConsumer(ctx, seg.Name(), jetstream.ConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: max(next, seg.First),
		AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, Replicas: 1, InactiveThreshold: time.Minute,
	})
	if err != nil {
		return err
	}
	defer h.s.dropConsumer(context.WithoutCancel(ctx), seg.Name(), consumer.CachedInfo().Name)
	messages, err := consumer.Messages(jetstream.PullMaxMessagesWithBytesLimit(pullMessages, pullBytes), jetstream.PullExpiry(pullExpiry),
		jetstream.PullHeartbeat(pullHeartbeat), jetstream.WithMessagesErrOnMissingHeartbeat(true))
	if err != nil {
		return err
	}
	defer messages.Stop()
	for {
		idle, cancel := context.WithTimeout(ctx, tailIdle)
		m, err := messages.Next(jetstream.NextContext(idle))
		cancel()
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			if moved, err := h.idle(ctx, seg); err != nil || moved {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		meta, err := m.Metadata()
		if err != nil {
			return err
		}
		if err := h.take(ctx, meta.Sequence.Stream, m.Data(), handover.WriterOf(m.Headers())); err != nil {
			return err
		}
		if moved, err := h.moved(ctx, seg); err != nil || moved {
			return err
		}
	}
}

// take applies the group of a message that a server sent. A group that is unreadable or does not
// follow is read from the log: only there it can be damage.
func (h *shard) take(ctx context.Context, seq uint64, data []byte, writer format.Writer) error {
	next, err := h.awaitIdle(ctx, seq)
	if err != nil || seq < next {
		return err
	}
	if g, err := h.parse(seq, data, writer); err == nil && seq == next && h.follow(g) {
		return nil
	}
	return h.readUpTo(ctx, seq)
}

// follow applies a group of another process, if it follows everything that this process knows.
func (h *shard) follow(g *format.Group) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.beyond.busy() || g.Seq != h.beyond.front.Seq+1 || h.check(g) != nil {
		return false
	}
	h.accept(g)
	return true
}

// awaitIdle waits while a group of this process is under way, whose answer decides about its place,
// and returns the sequence of the next group. It returns at once if this process knows the group at
// seq.
func (h *shard) awaitIdle(ctx context.Context, seq uint64) (next uint64, err error) {
	for {
		h.mu.Lock()
		end, busy, grown := h.head.Seq, h.beyond.busy(), h.grown
		h.mu.Unlock()
		if seq <= end || !busy {
			return end + 1, nil
		}
		select {
		case <-grown:
		case <-time.After(resolvePause):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// readUpTo repeats tryReadUpTo until no group of this process is under way.
func (h *shard) readUpTo(ctx context.Context, seq uint64) error {
	for {
		err := h.tryReadUpTo(ctx, seq)
		if !errors.Is(err, errBusy) {
			return err
		}
		if err := due.Rest(ctx, resolvePause, nil); err != nil {
			return err
		}
	}
}

// awaitGroup reads the log up to a group, unless the tail is faster. The caller holds the lock.
func (h *shard) awaitGroup(seq uint64, wait time.Duration) {
	if seq <= max(h.head.Seq, h.exchange.awaited) {
		return
	}
	if h.exchange.awaited == 0 {
		time.AfterFunc(wait, h.fetch)
	}
	h.exchange.awaited = seq
}

// fetch reads the log up to the awaited group.
func (h *shard) fetch() {
	h.mu.Lock()
	seq := h.exchange.awaited
	h.mu.Unlock()
	ctx, cancel := context.WithTimeout(h.s.life, jetapi.ReadTimeout)
	defer cancel()
	err := h.tryReadUpTo(ctx, seq)
	if err != nil && !errors.Is(err, errBusy) && h.s.life.Err() == nil {
		h.s.log.Debug().Err(err).Int("shard", h.n).Msg("a group that another node appended was not read; the tail brings it")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	newer := h.exchange.awaited
	h.exchange.awaited = 0
	if newer > seq { // it was named meanwhile
		h.awaitGroup(newer, tailPatience)
	}
}

// idle reads the log up to its end after a silence, and reports whether the open segment differs
// from seg.
func (h *shard) idle(ctx context.Context, seg segment) (moved bool, err error) {
	h.mu.Lock()
	busy := h.beyond.busy()
	h.mu.Unlock()
	if busy { // the server may show a group under way that cannot be read yet; resolve reads it
		return h.moved(ctx, seg)
	}
	last, err := h.lastAtLeader(ctx)
	if err == nil {
		err = h.readUpTo(ctx, last)
	}
	if err != nil {
		return false, err
	}
	return h.moved(ctx, seg)
}

// moved reports whether the open segment differs from seg. It waits while the next segment is being
// made.
func (h *shard) moved(ctx context.Context, seg segment) (bool, error) {
	for {
		h.mu.Lock()
		open, rolling := h.segments.Open(), h.segments.rolling
		h.mu.Unlock()
		if open.Number != seg.Number || !rolling {
			return open.Number != seg.Number, nil
		}
		if err := due.Rest(ctx, resolvePause, nil); err != nil {
			return false, err
		}
	}
}

// dropConsumer deletes a consumer. A consumer that cannot be reached expires by itself.
func (s *Store) dropConsumer(ctx context.Context, stream, name string) {
	if !s.nc.IsConnected() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := s.api.JS.DeleteConsumer(ctx, stream, name); err != nil {
		s.log.Debug().Err(err).Msg("consumer not deleted")
	}
}

// LogLost implements eventstore.Subscribing.
func (s *Store) LogLost(err error) { s.log.Error().Err(err).Msg("a shard cannot be read any more") }
