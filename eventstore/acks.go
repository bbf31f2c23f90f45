package eventstore

import (
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
)

// acks sends messages and hands each answer to whoever waits for it. Unlike a request of the client library, sending
// and waiting are two steps: groups are sent in their order, and their answers are waited for side by side.
type acks struct {
	nc     *nats.Conn
	prefix string

	mu      sync.Mutex
	count   uint64
	waiting map[string]chan *nats.Msg
}

func newAcks(nc *nats.Conn) (*acks, error) {
	a := &acks{nc: nc, prefix: nats.NewInbox() + ".", waiting: map[string]chan *nats.Msg{}}
	_, err := nc.Subscribe(a.prefix+"*", a.receive)
	return a, err
}

// send publishes m and returns the channel for its answer: nil comes when it could not be sent. An answer that is not
// waited for any more is dropped.
func (a *acks) send(m *nats.Msg) chan *nats.Msg {
	answer := make(chan *nats.Msg, 1)
	a.mu.Lock()
	a.count++
	token := strconv.FormatUint(a.count, 36)
	a.waiting[token] = answer
	a.mu.Unlock()
	m.Reply = a.prefix + token
	if err := a.nc.PublishMsg(m); err != nil {
		a.take(token)
		answer <- nil
	}
	return answer
}

func (a *acks) take(token string) chan *nats.Msg {
	a.mu.Lock()
	defer a.mu.Unlock()
	answer := a.waiting[token]
	delete(a.waiting, token)
	return answer
}

func (a *acks) receive(m *nats.Msg) {
	if answer := a.take(strings.TrimPrefix(m.Subject, a.prefix)); answer != nil {
		answer <- m
	}
}
