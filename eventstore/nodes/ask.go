package nodes

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"

	"payledger/eventstore/jetapi"
)

// askRoot begins the subjects of Ask.
const askRoot = "payledger.ask."

// maxAsked bounds the messages of one topic that wait in memory.
const maxAsked = 1024

// ErrNobody means that no node serves a topic.
var ErrNobody = errors.New("no node serves the topic")

// Ask sends a message to the node that serves a topic, calls sent when the message is on its way,
// and waits for the answer. ErrNobody means that no node serves the topic. Neither the message nor
// the answer is stored.
func (r *Registry) Ask(ctx context.Context, topic string, data []byte, sent func()) ([]byte, error) {
	sub, err := jetapi.Ask(r.API.Conn, &nats.Msg{Subject: askRoot + topic, Data: data})
	sent()
	if err != nil {
		return nil, fmt.Errorf("nodes: %w", err)
	}
	defer sub.Unsubscribe() //nolint:errcheck // see Ask
	answer, err := sub.NextMsgWithContext(ctx)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return nil, ErrNobody
	case err != nil:
		return nil, fmt.Errorf("nodes: %w", err)
	}
	return answer.Data, nil
}

// AnswerTo answers the messages of a topic, each in a goroutine of its own, until stop is called. A
// nil answer is not sent. The context of answer ends with Close.
func (r *Registry) AnswerTo(topic string, answer func(ctx context.Context, data []byte) []byte) (stop func(), err error) {
	sub, err := r.API.Conn.Subscribe(askRoot+topic, func(m *nats.Msg) {
		go func() { // it ends with the context, at the latest
			if data := answer(r.life, m.Data); data != nil && m.Reply != "" {
				_ = m.Respond(data) // without a connection the other node gets no answer, and tries again
			}
		}()
	})
	if err != nil {
		return nil, fmt.Errorf("nodes: %w", err)
	}
	if err := sub.SetPendingLimits(maxAsked, -1); err != nil {
		return nil, errors.Join(err, sub.Unsubscribe())
	}
	return func() { _ = sub.Unsubscribe() }, nil // it fails only without a connection, and then there is no subscription
}
