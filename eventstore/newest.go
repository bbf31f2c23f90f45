package eventstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"payledger/domain"
)

// EveryAccount stands for all accounts, where Newest takes one.
const EveryAccount domain.AccountID = "*"

// newestIdle is how long a reader of newest events may wait for its turn.
const newestIdle = time.Hour

// Newest hands on the newest event of every aggregate of one kind that an account has (EveryAccount: that there is), as
// they stood at the call, shard by shard; begin is told before how many there are. Nothing is handed on before it is durable. It holds no more than
// some hundred events, however many there are.
func (s *Store) Newest(ctx context.Context, account domain.AccountID, aggregate string, begin func(total uint64), handle func(*Recorded) error) (err error) {
	if account != EveryAccount && !domain.ValidID(string(account)) || !domain.ValidID(aggregate) {
		return fmt.Errorf("%w: %s.%s", ErrNotFound, account, aggregate)
	}
	readers := make([]jetstream.Consumer, 0, s.shards)
	defer func() {
		for shard, reader := range readers {
			sub := subscription{store: s, shard: shard}
			sub.drop(context.WithoutCancel(ctx), reader.CachedInfo().Name)
		}
	}()
	total := uint64(0)
	for shard := range s.shards {
		reader, err := s.js.CreateConsumer(ctx, streamName(shard), jetstream.ConsumerConfig{
			DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy,
			FilterSubject: subjectRoot + "." + strconv.Itoa(shard) + "." + string(account) + "." + aggregate + ".*",
			AckPolicy:     jetstream.AckNonePolicy, MemoryStorage: true, Replicas: 1, InactiveThreshold: newestIdle,
		})
		if err != nil {
			return fmt.Errorf("eventstore: newest events of %s: %w", streamName(shard), err)
		}
		readers = append(readers, reader)
		total += reader.CachedInfo().NumPending
	}
	begin(total)
	for shard, reader := range readers {
		if err := s.newestOf(ctx, shard, reader, handle); err != nil {
			return err
		}
	}
	return nil
}

// newestOf reads one shard's.
func (s *Store) newestOf(ctx context.Context, shard int, reader jetstream.Consumer, handle func(*Recorded) error) error {
	left := reader.CachedInfo().NumPending
	if left == 0 {
		return nil
	}
	messages, err := reader.Messages(jetstream.PullMaxMessages(pullMessages), jetstream.PullExpiry(pullExpiry),
		jetstream.PullHeartbeat(pullHeartbeat), jetstream.WithMessagesErrOnMissingHeartbeat(true))
	if err != nil {
		return fmt.Errorf("eventstore: newest events of %s: %w", streamName(shard), err)
	}
	defer messages.Stop()
	for next := uint64(1); left > 0; left-- {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return fmt.Errorf("eventstore: newest events of %s: %w", streamName(shard), err)
		}
		meta, err := m.Metadata()
		if err != nil {
			return fmt.Errorf("eventstore: newest events of %s: %w", streamName(shard), err)
		}
		if meta.Sequence.Consumer != next {
			return errors.Join(errSkipped, fmt.Errorf("%s: event %d follows %d", streamName(shard), meta.Sequence.Consumer, next-1))
		}
		next++
		r, err := parseMessage(m.Subject(), meta.Sequence.Stream, m.Headers(), m.Data())
		if err == nil {
			err = s.waitDurable(ctx, shard, r.Seq)
		}
		if err == nil {
			err = handle(r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
