package sender

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http/httptrace"
	"sync"
	"time"

	"payledger/notifier/statusline"
)

// ErrNotSent means that no byte of a request was sent: a Message.Fresh returned the error that it
// wraps.
var ErrNotSent = errors.New("notifier: not sent")

// firstWriteTime bounds the write of a request's first bytes. They go into the empty buffer of a
// socket, so the write does not wait for the receiver, unless the receiver did not read the
// requests before.
const firstWriteTime = time.Second

// conn calls the check of each request immediately before its first byte, and reads the status line
// of the answer. It stands above TLS: a handshake is no request.
type conn struct {
	net.Conn
	gate *gate

	mu   sync.Mutex
	next *exchange // of the next request; nil: the first byte was written
	line *statusline.Line
}

// exchange is one request and the status line of its answer.
type exchange struct {
	check func() error            // Message.Fresh; nil: always fresh
	stop  context.CancelCauseFunc // of the request
	line  statusline.Line
}

// of returns a context of the request. Each connection that the request gets runs the check: the
// transport may try more than one.
func (p *exchange) of(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		c := got.Conn.(*conn)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.next = p
	}})
}

func (c *conn) Write(b []byte) (int, error) {
	c.mu.Lock()
	first := c.next
	c.next = nil
	if first != nil {
		first.line.Begin()
		c.line = &first.line
	}
	c.mu.Unlock()
	if first == nil || first.check == nil {
		return c.Conn.Write(b)
	}
	defer c.gate.enter()()
	if err := first.check(); err != nil {
		first.stop(fmt.Errorf("%w: %w", ErrNotSent, err))
		return 0, err
	}
	if err := c.SetWriteDeadline(time.Now().Add(firstWriteTime)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(b)
	return n, errors.Join(err, c.SetWriteDeadline(time.Time{}))
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.mu.Lock()
	line := c.line
	c.mu.Unlock()
	if line != nil {
		line.Read(b[:n])
	}
	return n, err
}

// gate counts the sends between check and first byte.
type gate struct {
	mu      sync.Mutex
	passing sync.Mutex // one pass at a time
	inside  *sync.WaitGroup
}

func newGate() *gate { return &gate{inside: &sync.WaitGroup{}} }

func (g *gate) enter() (leave func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside.Add(1)
	return g.inside.Done
}

// pass returns when the checks that began before the call have ended. It does not wait for later
// ones.
func (g *gate) pass() {
	g.passing.Lock()
	defer g.passing.Unlock()
	g.mu.Lock()
	before := g.inside
	g.inside = &sync.WaitGroup{}
	g.mu.Unlock()
	before.Wait()
}

// dial opens connections that check first bytes.
type dial func(ctx context.Context, network, address string) (net.Conn, error)

func (d dial) plain(g *gate) dial {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := d(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &conn{Conn: c, gate: g}, nil
	}
}

func (d dial) tls(g *gate, timeout time.Duration) dial {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		raw, err := d(ctx, network, address)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		c := tls.Client(raw, &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host})
		if err := c.HandshakeContext(ctx); err != nil {
			return nil, errors.Join(err, raw.Close())
		}
		return &conn{Conn: c, gate: g}, nil
	}
}
