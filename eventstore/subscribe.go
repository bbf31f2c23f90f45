package eventstore

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// Subscribe hands the events of one shard after sequence `after` to handle, in order, until ctx ends or
// handle fails; it returns that error. Nothing is handed out before it is durable. It uses an ordered
// consumer: no state on the server, positions are the reader's own.
func (s *Store) Subscribe(ctx context.Context, shard int, after uint64, handle func(*Recorded) error) error {
	consumer, err := s.js.OrderedConsumer(ctx, streamName(shard), jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: after + 1,
	})
	if err != nil {
		return fmt.Errorf("eventstore: subscribe to %s: %w", streamName(shard), err)
	}
	messages, err := consumer.Messages(jetstream.PullMaxMessages(512))
	if err != nil {
		return fmt.Errorf("eventstore: subscribe to %s: %w", streamName(shard), err)
	}
	defer messages.Stop()
	stop := context.AfterFunc(ctx, messages.Stop)
	defer stop()
	for next := after + 1; ; next++ {
		m, err := messages.Next()
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("eventstore: subscription to %s: %w", streamName(shard), err)
		}
		r, err := s.received(ctx, shard, next, m)
		if err != nil {
			return err
		}
		if err := handle(r); err != nil {
			return err
		}
	}
}

// received reads a delivered message, refuses a gap and waits until it is durable.
func (s *Store) received(ctx context.Context, shard int, expected uint64, m jetstream.Msg) (*Recorded, error) {
	meta, err := m.Metadata()
	if err != nil {
		return nil, fmt.Errorf("eventstore: subscription to %s: %w", streamName(shard), err)
	}
	if meta.Sequence.Stream != expected {
		err := fmt.Errorf("%s: sequence %d follows %d", streamName(shard), meta.Sequence.Stream, expected-1)
		s.fail(err, false)
		return nil, fmt.Errorf("%w: %w", ErrUnhealthy, err)
	}
	r, err := parseMessage(m.Subject(), expected, m.Headers(), m.Data())
	if err != nil {
		return nil, err
	}
	return r, s.waitDurable(ctx, shard, expected)
}
