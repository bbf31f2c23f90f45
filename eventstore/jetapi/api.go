package jetapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// ReadTimeout bounds one request to the server, if Client.ReadTimeout is 0; the context of the
	// caller bounds all of them together.
	ReadTimeout = 5 * time.Second
	// PublishTimeout bounds one publish. Without an answer in time its outcome is unknown.
	PublishTimeout = 3 * time.Second
	// StaleLeader is how long a leader that lost its connection to the cluster may still answer.
	StaleLeader = 20 * time.Second
	// replicaTimeout bounds the answer of one replica. After it the caller reads at the leader.
	replicaTimeout = time.Second
	// pingEvery is the time between two pings of a connection. A server that answers none of
	// unanswered pings counts as gone: a silent server is noticed after 4 to 6 s, and the client
	// moves to another one. That is within a node's lease of 9 s (package nodes), and a server that
	// only waits for a slow disk is not left. Reads and publishes fail after ReadTimeout and
	// PublishTimeout all the same.
	pingEvery   = 2 * time.Second
	unanswered  = 2
	leaderPause = 50 * time.Millisecond
)

// Client sends requests over the connection of a store.
type Client struct {
	Conn        *nats.Conn
	JS          jetstream.JetStream  // over Conn
	Replicas    int                  // of the streams; 0 while it is not known
	Placement   *jetstream.Placement // of the streams; nil: any servers
	ReadTimeout time.Duration        // of one read; 0 takes the constant
	readers     []*nats.Conn

	mu    sync.Mutex
	count uint64   // of the messages that were sent with Send
	free  []*Reply // not in use
}

// Options turn off everything in the client library that sends a message again or later by itself.
func Options() []nats.Option {
	return []nats.Option{
		nats.ReconnectBufSize(-1), nats.MaxReconnects(-1), nats.ReconnectWait(100 * time.Millisecond),
		nats.NoCallbacksAfterClientClose(), nats.Name("payledger"),
	}
}

// External returns Options for an external cluster: a silent server is left for another one. A
// server that reads nothing more is left, too: a write to it holds the lock that a ping needs.
func External() []nats.Option {
	return append(Options(), nats.PingInterval(pingEvery), nats.MaxPingsOutstanding(unanswered),
		nats.FlusherTimeout(unanswered*pingEvery), nats.ReconnectOnFlusherError())
}

const connectTries = 5

// Connect is nats.Connect. If this process is slow, the server's own PING comes before its PONG,
// which the client library takes for an error: then Connect tries again.
func Connect(url string, options ...nats.Option) (nc *nats.Conn, err error) {
	for range connectTries {
		nc, err = nats.Connect(url, options...)
		if err == nil || !strings.Contains(err.Error(), "expected 'PONG', got 'PING'") {
			break
		}
	}
	return nc, err
}

// Error is an error in an answer of JetStream.
type Error struct {
	Code        int    `json:"code"`
	ErrCode     int    `json:"err_code"`
	Description string `json:"description"`
}

func (e *Error) Error() string { return fmt.Sprintf("jetstream %d: %s", e.ErrCode, e.Description) }

// JetStream error codes that decide the outcome of a publish.
const (
	codeAccountResources      = 10002 // the account's limit: refused before anything was stored
	codeInsufficientResources = 10023 // the server's limit: the same
	codeNoMessageFound        = 10037
	codeStreamNotFound        = 10059
	codeTooLarge              = 10054 // the message is larger than max_payload: the same
	codeStoreFailed           = 10077 // the server stored nothing; see Definite
	codeWrongSequence         = 10071 // another message is the last one
	codeWrongSequenceAhead    = 10164 // the same, or a message under way is the last one
)

// Taken reports whether the answer to a publish says that the last message is another one than the
// publish expected.
func (e *Error) Taken() bool {
	return e.ErrCode == codeWrongSequence || e.ErrCode == codeWrongSequenceAhead
}

// Definite reports whether the answer to a publish proves that the message was not stored. On a
// replicated stream 10077 proves nothing: a leader that shuts down returns it while the other
// replicas store the message.
func (e *Error) Definite(replicas int) bool {
	switch e.ErrCode {
	case codeAccountResources, codeInsufficientResources, codeTooLarge:
		return true
	case codeStoreFailed:
		return replicas == 1
	default:
		return false
	}
}

// Ack is the answer to a publish: an acknowledgement, unless Error is set.
type Ack struct {
	Error  *Error `json:"error"`
	Stream string `json:"stream"`
	Seq    uint64 `json:"seq"`
}

// ParseAck reads the answer to a publish.
func ParseAck(m *nats.Msg) (ack Ack, err error) {
	if err = json.Unmarshal(m.Data, &ack); err != nil {
		err = fmt.Errorf("answer to a publish: %w", err)
	}
	return ack, err
}

// Publish sends a message once and waits for the answer. An error means that the outcome is
// unknown.
func (c *Client) Publish(ctx context.Context, m *nats.Msg) (Ack, error) {
	ctx, cancel := context.WithTimeout(ctx, PublishTimeout)
	defer cancel()
	answer, err := c.Conn.RequestMsgWithContext(ctx, m)
	if err != nil {
		return Ack{}, err
	}
	return ParseAck(answer)
}

// Ask publishes a request to which several messages may be the answer. Unsubscribe ends it: that
// fails only without a connection, and then there is no subscription.
func Ask(conn *nats.Conn, m *nats.Msg) (answers *nats.Subscription, err error) {
	m.Reply = conn.NewInbox() // NewRespInbox: each message would come twice, also to the subscription of Conn.Request
	if answers, err = conn.SubscribeSync(m.Reply); err != nil {
		return nil, err
	}
	if err = conn.PublishMsg(m); err != nil {
		_ = answers.Unsubscribe()
	}
	return answers, err
}

// Change requests a change of a stream: a deletion or a purge.
func (c *Client) Change(ctx context.Context, verb, stream string, request any) error {
	ctx, cancel := context.WithTimeout(ctx, PublishTimeout)
	defer cancel()
	var answer struct {
		Error   *Error `json:"error"`
		Success bool   `json:"success"`
	}
	err := c.call(ctx, "$JS.API.STREAM."+verb+"."+stream, request, &answer)
	switch {
	case err != nil:
		return err
	case answer.Error != nil:
		return answer.Error
	case !answer.Success:
		return errors.New("the server did not do it")
	}
	return nil
}

func (c *Client) call(ctx context.Context, subject string, request, answer any) error {
	question, err := json.Marshal(request)
	if err != nil {
		return err
	}
	m, err := c.Conn.RequestWithContext(ctx, subject, question)
	if err != nil {
		return err
	}
	return json.Unmarshal(m.Data, answer)
}

// IsTimeout reports whether err is an expired or cancelled wait of this process, and no answer of
// the server.
func IsTimeout(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.Is(err, nats.ErrTimeout)
}
