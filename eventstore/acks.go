package eventstore

import (
	"strconv"
	"sync"

	"github.com/nats-io/nats.go"
)

// acks sends messages and receives their answers. In the client library a request sends and waits in one step. Here they are two
// steps: groups are sent in their order, and their answers are awaited concurrently.
type acks struct {
	nc *nats.Conn

	mu    sync.Mutex
	count uint64
	free  []*replies
}

// replies receives the answers to messages that are sent one after the other. The client library's reading loop puts them
// straight into the channel; a callback would run in a goroutine of its own, 10 µs later.
type replies struct {
	sub     *nats.Subscription
	prefix  string
	answers chan *nats.Msg // late answers to earlier messages, too
	subject string         // of the answer to the newest message
	err     error          // the newest message could not be sent
}

// lateAnswers is the number of answers that can wait to be read. An answer beyond it is lost; the outcome is then unknown.
const lateAnswers = 16

// send publishes m and returns the place of its answer.
func (a *acks) send(m *nats.Msg) *replies {
	r := a.take()
	if r.err == nil {
		m.Reply = r.subject
		r.err = a.nc.PublishMsg(m)
	}
	return r
}

// take returns replies that no other message uses, with a new subject. If the subscription fails, their err is set.
func (a *acks) take() (r *replies) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if last := len(a.free) - 1; last >= 0 {
		r, a.free = a.free[last], a.free[:last]
		r.err = nil
	} else {
		r = &replies{prefix: nats.NewInbox() + ".", answers: make(chan *nats.Msg, lateAnswers)}
		r.sub, r.err = a.nc.ChanSubscribe(r.prefix+"*", r.answers)
	}
	a.count++
	r.subject = r.prefix + strconv.FormatUint(a.count, 36)
	return r
}

// done makes r available again, after its answer came or the wait for it ended.
func (a *acks) done(r *replies) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.sub != nil {
		a.free = append(a.free, r)
	}
}
