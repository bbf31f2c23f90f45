package eventstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// pullMessages is how many events a subscription asks for ahead.
	pullMessages = 512
	// pullHeartbeat is how often an idle consumer must show that it is there.
	pullHeartbeat = time.Second
	// pullExpiry is how long one request for events stands.
	pullExpiry = 10 * time.Second
	// resubscribePause is the wait before a subscription that broke is made anew.
	resubscribePause = 100 * time.Millisecond
)

// Subscribe hands the events of one shard after sequence `after` to handle, in order and without a gap,
// until ctx ends, handle fails or the log is found damaged; it returns that error. Nothing is handed out
// before it is durable. It keeps its position itself: the consumer on the server lives in memory, and
// whenever it or the connection is lost, another goes on from there.
func (s *Store) Subscribe(ctx context.Context, shard int, after uint64, handle func(*Recorded) error) error {
	if s.tails != nil {
		return s.follow(ctx, shard, after, handle)
	}
	sub := &subscription{store: s, shard: shard, next: after + 1, handle: handle}
	return sub.keep(ctx)
}

// subscription is a place in one shard and what is done with the events after it.
type subscription struct {
	store  *Store
	shard  int
	next   uint64 // the sequence to come
	handle func(*Recorded) error
	failed error // why it must not go on
}

// run reads from one consumer until it breaks.
func (sub *subscription) run(ctx context.Context) error {
	consumer, err := sub.store.js.CreateConsumer(ctx, streamName(sub.shard), jetstream.ConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: sub.next,
		AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, Replicas: 1, InactiveThreshold: time.Minute,
	})
	if err != nil {
		return err
	}
	defer sub.drop(context.WithoutCancel(ctx), consumer.CachedInfo().Name)
	messages, err := consumer.Messages(jetstream.PullMaxMessages(pullMessages), jetstream.PullExpiry(pullExpiry),
		jetstream.PullHeartbeat(pullHeartbeat), jetstream.WithMessagesErrOnMissingHeartbeat(true))
	if err != nil {
		return err
	}
	defer messages.Stop()
	for {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return err
		}
		if err := sub.receive(ctx, m); err != nil {
			return err
		}
	}
}

// drop frees the consumer; one that cannot be reached ends itself.
func (sub *subscription) drop(ctx context.Context, name string) {
	if !sub.store.nc.IsConnected() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := sub.store.js.DeleteConsumer(ctx, streamName(sub.shard), name); err != nil {
		sub.store.log.Debug().Err(err).Msg("consumer not deleted")
	}
}

// errSkipped means that a message was lost on the way to us: the consumer is made anew.
var errSkipped = errors.New("eventstore: a message was lost on the way")

// receive hands on one delivered message, once it is durable.
func (sub *subscription) receive(ctx context.Context, m jetstream.Msg) error {
	meta, err := m.Metadata()
	if err != nil {
		return err
	}
	if meta.Sequence.Stream < sub.next {
		return nil // seen before
	}
	if meta.Sequence.Stream > sub.next {
		return sub.skipped(ctx, meta.Sequence.Stream)
	}
	r, err := parseMessage(m.Subject(), sub.next, m.Headers(), m.Data())
	if err != nil {
		sub.failed = err
		return err
	}
	if err := sub.store.waitDurable(ctx, sub.shard, sub.next); err != nil {
		if sub.store.sick.Load() != nil {
			sub.failed = err
		}
		return err
	}
	if err := sub.handle(r); err != nil {
		sub.failed = err
		return err
	}
	sub.next++
	return nil
}

// skipped tells a message that was lost on the way from one that the log has lost.
func (sub *subscription) skipped(ctx context.Context, got uint64) error {
	last, err := sub.store.LastSeq(ctx, sub.shard)
	if err != nil || last < got { // a leader that was cut off knows less than we
		return errors.Join(errSkipped, err)
	}
	if _, err := sub.store.getAtLeader(ctx, sub.shard, getRequest{Seq: sub.next}); !errors.Is(err, ErrNotFound) {
		return errors.Join(errSkipped, err)
	}
	sub.store.fail(fmt.Errorf("%s: sequence %d follows %d", streamName(sub.shard), got, sub.next-1), false)
	sub.failed = sub.store.Healthy()
	return sub.failed
}
