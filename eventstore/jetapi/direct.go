package jetapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"payledger/eventstore/fault"
)

const pageBytes = 4 << 20

// OpenReaders opens n connections for Direct Gets: their users do not wait for each other.
func (c *Client) OpenReaders(n int, dial func() (*nats.Conn, error)) error {
	for range n {
		nc, err := dial()
		if err != nil {
			return fmt.Errorf("eventstore: connect: %w", err)
		}
		c.readers = append(c.readers, nc)
	}
	return nil
}

// Close closes all connections.
func (c *Client) Close() {
	c.Conn.Close()
	for _, nc := range c.readers {
		nc.Close()
	}
}

// Denied returns the newest error of a connection whose user lacks a right; nil: there was none.
// The server does not answer such a request, so it looks like a timeout.
func (c *Client) Denied() error {
	for _, nc := range append([]*nats.Conn{c.Conn}, c.readers...) {
		if err := nc.LastError(); errors.Is(err, nats.ErrPermissionViolation) {
			return err
		}
	}
	return nil
}

// reader returns a connection for look-ups, or the store's own connection while that one is away.
func (c *Client) reader(n int) *nats.Conn {
	if nc := c.readers[n]; nc.IsConnected() {
		return nc
	}
	return c.Conn
}

func (c *Client) directTimeout() time.Duration {
	if c.Replicas > 1 {
		return replicaTimeout
	}
	return c.Patience()
}

// Patience bounds one read with its repetitions.
func (c *Client) Patience() time.Duration { return cmp.Or(c.ReadTimeout, ReadTimeout) }

// Direct reads one message from one server, over the connection of a reader. ErrNotFound: that
// server does not have it.
func (c *Client) Direct(ctx context.Context, reader int, stream string, seq uint64) (*nats.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, c.directTimeout())
	defer cancel()
	sequence := strconv.FormatUint(seq, 10)
	m, err := c.reader(reader).RequestWithContext(ctx, "$JS.API.DIRECT.GET."+stream, []byte(`{"seq":`+sequence+`}`))
	if err != nil {
		return nil, fmt.Errorf("eventstore: read: %w", err)
	}
	switch status := m.Header.Get("Status"); {
	case status == "404" || status == "" && m.Header.Get("Nats-Sequence") != sequence:
		return nil, fault.ErrNotFound
	case status != "":
		return nil, fmt.Errorf("eventstore: read: status %s %s", status, m.Header.Get("Description"))
	}
	return m, nil
}

// Page calls take with up to n messages of a subject from a sequence on, from one server, over the
// connection of a reader. It ends when take returns false or an error. whole reports that the
// server has no message after the last one.
func (c *Client) Page(ctx context.Context, reader int, stream, subject string, from, n uint64, take func(seq uint64, m *nats.Msg) (more bool, err error)) (whole bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.directTimeout())
	defer cancel()
	nc := c.reader(reader)
	inbox, answers := nats.NewInbox(), make(chan *nats.Msg, n+1)
	sub, err := nc.ChanSubscribe(inbox, answers)
	if err != nil {
		return false, fmt.Errorf("eventstore: read: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }() // it fails only without a connection, and then there is no subscription
	question, err := json.Marshal(struct {
		Seq      uint64 `json:"seq"`
		Batch    uint64 `json:"batch"`
		MaxBytes int    `json:"max_bytes"`
		Next     string `json:"next_by_subj"`
	}{from, n, pageBytes, subject})
	if err == nil {
		err = nc.PublishRequest("$JS.API.DIRECT.GET."+stream, inbox, question)
	}
	if err != nil {
		return false, fmt.Errorf("eventstore: read: %w", err)
	}
	for {
		var m *nats.Msg
		select {
		case m = <-answers:
		case <-ctx.Done():
			return false, fmt.Errorf("eventstore: read: %w", ctx.Err())
		}
		switch status := m.Header.Get("Status"); status {
		case "":
		case "404":
			return true, nil
		case "204": // the end of this answer
			left, err := strconv.ParseUint(m.Header.Get("Nats-Num-Pending"), 10, 64)
			return err == nil && left == 0, nil
		default:
			return false, fmt.Errorf("eventstore: read: status %s", status)
		}
		seq, err := strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64)
		if err != nil {
			return false, fmt.Errorf("eventstore: read: %w", err)
		}
		if more, err := take(seq, m); err != nil || !more {
			return false, err
		}
	}
}
