package feed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

type overNATS struct{ url, credentials string }

// streamName is the name of the stream (I2).
const streamName = "EVENTS"

func (s overNATS) page(ctx context.Context, after uint64, emit func([]byte) error, _ func(uint64)) error {
	return s.read(ctx, after, func(consumer jetstream.Consumer, next func() (jetstream.Msg, error)) error {
		info, err := consumer.Info(ctx)
		if err != nil {
			return broken(err)
		}
		for pending := info.NumPending; pending > 0; {
			m, err := next()
			if err != nil {
				return err
			}
			metadata, err := m.Metadata()
			if err != nil {
				return broken(err)
			}
			pending = metadata.NumPending
			if err := emit(m.Data()); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s overNATS) follow(ctx context.Context, after uint64, emit func([]byte) error, passed func(uint64)) error {
	return s.read(ctx, after, func(_ jetstream.Consumer, next func() (jetstream.Msg, error)) error {
		passed(after)
		for {
			m, err := next()
			if err != nil {
				return err
			}
			if err := emit(m.Data()); err != nil {
				return err
			}
		}
	})
}

// read connects, and calls handle with a consumer of the messages after a position.
func (s overNATS) read(ctx context.Context, after uint64, handle func(jetstream.Consumer, func() (jetstream.Msg, error)) error) error {
	conn, err := nats.Connect(s.url, nats.UserCredentials(s.credentials), nats.Name("payledger feed"), nats.MaxReconnects(-1))
	if err != nil {
		return broken(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return fmt.Errorf("feed: %w", err)
	}
	stream, err := js.Stream(ctx, streamName)
	if err != nil {
		return broken(err)
	}
	r := &retained{stream: stream, conn: conn, last: after}
	if err := r.note(stream.CachedInfo(), time.Now()); err != nil {
		return err
	}
	consumer, err := stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: after + 1,
	})
	if err != nil {
		return broken(err)
	}
	messages, err := consumer.Messages()
	if err != nil {
		return broken(err)
	}
	defer messages.Stop()
	return handle(consumer, func() (jetstream.Msg, error) {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return nil, broken(err)
		}
		return m, r.check(ctx, m)
	})
}

// broken returns the error of a connection. Wrong credentials stay wrong; all else can be tried
// again.
func broken(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked),
		errors.Is(err, nats.ErrPermissionViolation):
		return fmt.Errorf("feed: the server refuses the credentials: %w", err)
	}
	return fmt.Errorf("%w: %w", ErrBroken, err)
}
