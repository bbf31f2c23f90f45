package feed

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// retained checks that the stream dropped no message between two that a reader gets: after a pause
// of the reader or of its connection, a consumer goes on with the first message that is stored. The
// server is requested only if a message may have been dropped.
type retained struct {
	stream jetstream.Stream
	conn   *nats.Conn
	last   uint64    // sequence of the newest message that the reader got
	lastAt time.Time // when it was stored; zero: unknown

	// As the server answered last:
	asked      time.Time     // when, by this machine's clock
	first      time.Time     // when the stream's first message was stored; zero: unknown
	retention  time.Duration // 0: the stream keeps all messages
	reconnects uint64        // of the connection, until then
}

// check returns an error if messages before m were dropped. Sequences have gaps: other accounts
// have messages, too.
func (r *retained) check(ctx context.Context, m jetstream.Msg) error {
	metadata, err := m.Metadata()
	if err != nil {
		return broken(err)
	}
	if metadata.Sequence.Stream > r.last+1 && r.mayHaveDropped() {
		if err := r.ask(ctx); err != nil {
			return err
		}
	}
	r.last, r.lastAt = metadata.Sequence.Stream, metadata.Timestamp
	return nil
}

// mayHaveDropped reports whether the stream may have dropped a message after the last one. The
// stream's first message was still there when the server answered. A message that was stored some
// time after it is dropped at least that time later. The retention changes only while the server
// restarts.
func (r *retained) mayHaveDropped() bool {
	if r.conn.Stats().Reconnects != r.reconnects {
		return true
	}
	if r.retention == 0 {
		return false
	}
	return r.lastAt.IsZero() || r.first.IsZero() || time.Since(r.asked) >= r.lastAt.Sub(r.first)
}

func (r *retained) ask(ctx context.Context) error {
	asked, reconnects := time.Now(), r.conn.Stats().Reconnects
	info, err := r.stream.Info(ctx)
	if err != nil {
		return broken(err)
	}
	r.reconnects = reconnects
	return r.note(info, asked)
}

// note returns an error if the stream no longer has the message after the last one.
func (r *retained) note(info *jetstream.StreamInfo, asked time.Time) error {
	r.asked, r.first, r.retention = asked, info.State.FirstTime, info.Config.MaxAge
	if first := info.State.FirstSeq; first > r.last+1 {
		return fmt.Errorf("feed: the stream %s begins at position %d: read the events behind position %d over HTTP", streamName, first, r.last)
	}
	return nil
}
