package jetapi

import (
	"errors"
	"slices"
	"strconv"

	"github.com/nats-io/nats.go"
)

// Reply receives the answers to messages that are sent one after the other. The client library's
// reading loop puts them straight into the channel; a callback would run in a goroutine of its own,
// 10 µs later.
type Reply struct {
	sub     *nats.Subscription
	prefix  string
	Answers chan *nats.Msg // may hold late answers to earlier messages, too
	Subject string         // of the answer to the newest message
	Err     error          // the newest message could not be sent
	Unsent  bool           // with Err: no byte of the message has left this process
}

// lateAnswers is the number of answers that can wait to be read. An answer beyond it is lost; the
// outcome is then unknown.
const lateAnswers = 16

// Send publishes m and returns the place of its answer. In the client library a request sends and
// waits in one step. Here they are two steps: groups are sent in their order, and their answers are
// awaited concurrently.
func (c *Client) Send(m *nats.Msg) *Reply {
	r := c.acquire()
	if r.Unsent = r.Err != nil; r.Err == nil {
		m.Reply = r.Subject
		r.Err = c.Conn.PublishMsg(m)
		r.Unsent = slices.ContainsFunc(refusals, func(refusal error) bool { return errors.Is(r.Err, refusal) })
	}
	return r
}

// refusals are the errors with which the client library refuses a message before it hands a byte of
// the message to the connection (nats.go, publish). Any other error may come in the middle of a
// write.
var refusals = []error{
	nats.ErrInvalidConnection, nats.ErrBadSubject, nats.ErrHeadersNotSupported, nats.ErrConnectionClosed, nats.ErrConnectionDraining,
	nats.ErrMaxPayload, nats.ErrReconnectBufExceeded,
}

// IsReconnecting reports whether an error of Send says that there is no connection at the moment.
func IsReconnecting(err error) bool { return errors.Is(err, nats.ErrReconnectBufExceeded) }

// acquire returns a Reply that no other message uses, with a new subject. If the subscription
// fails, Err is set.
func (c *Client) acquire() (r *Reply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if last := len(c.free) - 1; last >= 0 {
		r, c.free = c.free[last], c.free[:last]
		r.Err = nil
		for len(r.Answers) > 0 { // late ones: the channel needs room for the answer to the next message
			<-r.Answers
		}
	} else {
		r = &Reply{prefix: nats.NewInbox() + ".", Answers: make(chan *nats.Msg, lateAnswers)}
		r.sub, r.Err = c.Conn.ChanSubscribe(r.prefix+"*", r.Answers)
	}
	c.count++
	r.Subject = r.prefix + strconv.FormatUint(c.count, 36)
	return r
}

// Done makes r available again, after its answer came or the wait for it ended.
func (c *Client) Done(r *Reply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.sub != nil {
		c.free = append(c.free, r)
	}
}
