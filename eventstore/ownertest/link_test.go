package ownertest

import (
	"bytes"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"payledger/eventstore/handover"
)

// link is a node's way to the server: all of its connections.
type link struct {
	server  nats.Options // of a connection to it
	in, out valve        // of messages to the node, and from it

	mu    sync.Mutex
	cut   bool // no connections
	conns []*conn
	lost  map[string]string // parts of subjects: messages of the node on them go to others
	mark  string            // messages of the node with it are counted; "": none
	marks int
}

// count counts the messages of the node with a mark from now on.
func (l *link) count(mark string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mark, l.marks = mark, 0
}

func (l *link) counted() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.marks
}

// nowhere is the name of no node.
const nowhere = "00000000-0000-4000-8000-000000000000"

// miss loses all requests of the node to another one, until reach.
func (l *link) miss(name string) { l.divert(drafts(name), drafts(nowhere)) }

func (l *link) reach(name string) { l.divert(drafts(name), "") }

func drafts(name string) string { return strings.TrimSuffix(handover.DraftsSubject(name), "*") }

// divert lets messages go to another subject; "": no more.
func (l *link) divert(from, to string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost == nil {
		l.lost = map[string]string{}
	}
	if l.lost[from] = to; to == "" {
		delete(l.lost, from)
	}
}

// route returns what gets to the server.
func (l *link) route(piece []byte) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mark != "" {
		l.marks += bytes.Count(piece, []byte(l.mark))
	}
	for from, to := range l.lost {
		piece = bytes.ReplaceAll(piece, []byte(from), []byte(to))
	}
	return piece
}

func newLink(server nats.Options) *link {
	return &link{server: server, in: newValve(), out: newValve()}
}

// through is the option that leads a store's connections through the link. The client sends no
// pings: they would end a connection that is frozen.
func (l *link) through(o *nats.Options) error {
	o.InProcessServer, o.User, o.Password, o.Timeout, o.PingInterval = l, l.server.User, l.server.Password, l.server.Timeout, 0
	return nil
}

// InProcessConn makes a connection.
func (l *link) InProcessConn() (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		return nil, errors.New("the link is cut")
	}
	wire, err := l.server.InProcessServer.InProcessConn()
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: wire, of: l, ended: make(chan struct{})}
	c.toNode, c.toServer = newQueue(&l.in, c.ended), newQueue(&l.out, c.ended)
	l.conns = append(l.conns, c)
	go c.receive()
	go c.send()
	return c, nil
}

// kill ends all connections, and allows no new ones until join. The server sees their ends.
func (l *link) kill() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = true
	for _, c := range l.conns {
		c.Close()
	}
	l.conns = nil
}

func (l *link) join() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = false
}

// freeze holds everything in both directions: nobody sees an end of a connection. thaw lets it
// pass.
func (l *link) freeze() { l.in.shut(); l.out.shut() }
func (l *link) thaw()   { l.out.open(); l.in.open() }

// conn is one connection. Writes do not wait: the client holds a lock meanwhile.
type conn struct {
	net.Conn
	of               *link
	toNode, toServer *queue
	left             []byte // of the last piece
	once             sync.Once
	ended            chan struct{}
}

// A stream of the server has one replica. The node sees three, so that it behaves as in a cluster.
var (
	one   = []byte(`"num_replicas":1`)
	three = []byte(`"num_replicas":3`)
)

func (c *conn) receive() {
	defer c.Close()
	buffer, kept := make([]byte, 64<<10), 0
	for {
		n, err := c.Conn.Read(buffer[kept:])
		if err != nil {
			return
		}
		whole := bytes.ReplaceAll(buffer[:kept+n], one, three)
		end := len(whole)
		for cut := len(one) - 1; cut > 0; cut-- {
			if bytes.HasSuffix(whole, one[:cut]) { // the rest comes: a message ends with a line's end
				end -= cut
				break
			}
		}
		c.toNode.put(slices.Clone(whole[:end]))
		kept = copy(buffer, whole[end:])
	}
}

func (c *conn) send() {
	defer c.Close()
	for {
		piece, ok := c.toServer.take()
		if !ok {
			return
		}
		if _, err := c.Conn.Write(c.of.route(bytes.ReplaceAll(piece, three, one))); err != nil {
			return
		}
	}
}

func (c *conn) Read(b []byte) (int, error) {
	for len(c.left) == 0 {
		piece, ok := c.toNode.take()
		if !ok {
			return 0, io.EOF
		}
		c.left = piece
	}
	n := copy(b, c.left)
	c.left = c.left[n:]
	return n, nil
}

func (c *conn) Write(b []byte) (int, error) {
	select {
	case <-c.ended:
		return 0, net.ErrClosed
	default:
		c.toServer.put(slices.Clone(b))
		return len(b), nil
	}
}

func (c *conn) Close() error {
	c.once.Do(func() { close(c.ended) })
	return c.Conn.Close()
}

func (*conn) SetDeadline(time.Time) error      { return nil }
func (*conn) SetReadDeadline(time.Time) error  { return nil }
func (*conn) SetWriteDeadline(time.Time) error { return nil }

// valve lets pieces pass while it is open; while it is shut, those that came before a moment.
type valve struct {
	mu      sync.Mutex
	closed  bool
	before  time.Time
	changed chan struct{} // closed and replaced
}

func newValve() valve { return valve{changed: make(chan struct{})} }

func (v *valve) set(closed bool, before time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.closed, v.before = closed, before
	close(v.changed)
	v.changed = make(chan struct{})
}

func (v *valve) shut()                 { v.set(true, time.Time{}) }
func (v *valve) open()                 { v.set(false, time.Time{}) }
func (v *valve) upTo(before time.Time) { v.set(true, before) }

// pass returns when a piece may pass. It returns false at the end of the connection.
func (v *valve) pass(came time.Time, ended <-chan struct{}) bool {
	for {
		v.mu.Lock()
		free, changed := !v.closed || came.Before(v.before), v.changed
		v.mu.Unlock()
		if free {
			return true
		}
		select {
		case <-changed:
		case <-ended:
			return false
		}
	}
}

// queue has the pieces on their way in one direction.
type queue struct {
	valve  *valve
	ended  <-chan struct{}
	more   chan struct{}
	mu     sync.Mutex
	pieces []piece
}

type piece struct {
	data []byte
	came time.Time
}

func newQueue(v *valve, ended <-chan struct{}) *queue {
	return &queue{valve: v, ended: ended, more: make(chan struct{}, 1)}
}

func (q *queue) put(data []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.pieces = append(q.pieces, piece{data, time.Now()})
	select {
	case q.more <- struct{}{}:
	default:
	}
}

// take returns the next piece. It returns false at the end of the connection.
func (q *queue) take() ([]byte, bool) {
	for {
		q.mu.Lock()
		if len(q.pieces) > 0 {
			first := q.pieces[0]
			q.mu.Unlock()
			if !q.valve.pass(first.came, q.ended) {
				return nil, false
			}
			q.mu.Lock()
			q.pieces = q.pieces[1:]
			q.mu.Unlock()
			return first.data, true
		}
		q.mu.Unlock()
		select {
		case <-q.more:
		case <-q.ended:
			return nil, false
		}
	}
}
