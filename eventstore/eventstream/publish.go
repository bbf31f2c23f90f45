package eventstream

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Message is one event for the stream.
type Message struct {
	Position uint64
	Account  string
	Type     string
	ID       string // uuid of the event
	Subject  string // CloudEvents subject: the event's aggregate
	Time     string // RFC 3339
	Revision uint64
	Hash     string
	Body     []byte // JSON
}

// source is the CloudEvents source, as in the log.
const source = "/payledger"

// schemas begins the CloudEvents dataschema. The type follows, which is the name of the schema in
// asyncapi.yaml. The number changes with the schema version. It is no URL: the stream is the same
// on every node and under every --public-url.
const schemas = "urn:payledger:event:1:"

// encode returns the NATS message, in the binary mode of the CloudEvents binding for NATS.
func (m Message) encode() *nats.Msg {
	return &nats.Msg{
		Subject: "events." + m.Account + "." + m.Type,
		Header: nats.Header{
			"ce-specversion": {"1.0"}, "ce-id": {m.ID}, "ce-type": {m.Type}, "ce-source": {source}, "ce-subject": {m.Subject}, "ce-time": {m.Time},
			"ce-dataschema": {schemas + m.Type}, "content-type": {"application/json"}, "Ledger-Position": {strconv.FormatUint(m.Position, 10)},
			"Ledger-Revision": {strconv.FormatUint(m.Revision, 10)}, "Ledger-Hash": {m.Hash},
			jetstream.ExpectedLastSeqHeader: {strconv.FormatUint(m.Position-1, 10)},
		},
		Data: m.Body,
	}
}

// Limits of the messages that are sent and not acknowledged, by number and bytes.
const (
	windowMessages = 512
	windowBytes    = 8 << 20
)

// window holds the messages that the server has not acknowledged yet, oldest first.
type window struct {
	sent  []sent
	bytes int
}

type sent struct {
	ack  jetstream.PubAckFuture
	size int
}

// Publish sends the next message. It waits while the window is full. An error, ErrConflict for
// example, may belong to an earlier message. After an error the caller must Connect again.
func (e *Stream) Publish(ctx context.Context, m Message) error {
	for w := &e.window; len(w.sent) > 0 && (len(w.sent) >= windowMessages || w.bytes+len(m.Body) > windowBytes); {
		if err := w.await(ctx); err != nil {
			return err
		}
	}
	ack, err := e.js.PublishMsgAsync(m.encode(), jetstream.WithRetryAttempts(0), jetstream.WithStallWait(requestTimeout))
	if err != nil {
		return failure(err)
	}
	e.window.sent = append(e.window.sent, sent{ack, len(m.Body)})
	e.window.bytes += len(m.Body)
	return nil
}

// Flush waits until the server has acknowledged every published message.
func (e *Stream) Flush(ctx context.Context) error {
	for len(e.window.sent) > 0 {
		if err := e.window.await(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (w *window) await(ctx context.Context) error {
	oldest := w.sent[0]
	select {
	case <-oldest.ack.Ok():
		w.sent, w.bytes = w.sent[1:], w.bytes-oldest.size
		return nil
	case err := <-oldest.ack.Err():
		return failure(err)
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(2 * requestTimeout):
		return fmt.Errorf("%w: no answer in %s", ErrFailed, 2*requestTimeout)
	}
}
