package intake

import (
	"container/list"
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

const (
	// idleGrace is the time that a connection may be idle, or take no byte, before it can be
	// closed: its client may be about to send again.
	idleGrace = 2 * time.Second
	// search is the number of idle connections that are searched for one of an address.
	search = 1000
	// acceptPause is the wait after a failed accept, such as without file descriptors.
	acceptPause = 20 * time.Millisecond
)

// Caps are the limits of a Listener.
type Caps struct {
	Connections  int           // in all; 0 is no limit
	Reserve      int           // connections beyond the caps, for probes
	SendMemory   int64         // of all large send buffers, in bytes; 0: all send buffers are small
	WriteTimeout time.Duration // the longest time that a peer may take no byte of its answer
	Clients      *Clients      // counts the connections of each address that is no trusted proxy's
	Tally        *Tally
	Now          func() time.Time
}

// Listener splits the connections of one listener: Within has those within the caps, Beyond a few
// more.
type Listener struct {
	inner   net.Listener
	caps    Caps
	tally   *Tally
	within  *part
	beyond  *part
	buffers *Shares[netip.Addr] // the memory of large send buffers; nil: none
	done    chan struct{}
	closing sync.Once

	mu       sync.Mutex
	open     int       // connections within the caps
	idle     list.List // of *conn within the caps that can be closed, the longest idle first
	reserved list.List // of *conn beyond the caps, the oldest first
}

// Listen starts to accept. Both parts must be served; closing either closes the Listener.
func Listen(inner net.Listener, caps Caps) *Listener {
	l := &Listener{inner: inner, caps: caps, tally: caps.Tally, done: make(chan struct{})}
	if caps.SendMemory > 0 {
		l.buffers = NewShares[netip.Addr](caps.SendMemory, caps.SendMemory/2)
	}
	l.within, l.beyond = newPart(l), newPart(l)
	go l.accept()
	return l
}

// Within returns the listener of the connections within the caps. Its server must call State.
func (l *Listener) Within() net.Listener { return l.within }

// Beyond returns the listener of the connections beyond the caps. Its server must answer one
// request a connection, at once.
func (l *Listener) Beyond() net.Listener { return l.beyond }

type connKey struct{}

// Context adds its connection to the context of a request: it is the ConnContext of both servers.
func (l *Listener) Context(ctx context.Context, at net.Conn) context.Context {
	if c := unwrap(at); c != nil {
		ctx = context.WithValue(ctx, connKey{}, c)
	}
	return ctx
}

// Why returns the cap that the connection of a request is beyond.
func Why(ctx context.Context) Limit {
	if c, ok := ctx.Value(connKey{}).(*conn); ok {
		return c.why
	}
	return Connections
}

func (l *Listener) accept() {
	for {
		inner, err := l.inner.Accept()
		if err == nil {
			l.place(inner)
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			_ = l.close() // it is closed already
			return
		}
		pause := time.NewTimer(acceptPause)
		select {
		case <-pause.C:
		case <-l.done:
		}
	}
}

func (l *Listener) place(inner net.Conn) {
	if buffered, ok := inner.(interface{ SetWriteBuffer(int) error }); ok {
		_ = buffered.SetWriteBuffer(sendBuffer) // without it the buffer is only larger
	}
	c := &conn{
		Conn: inner, of: l, peer: client(peerOf(inner.RemoteAddr().String())), stop: make(chan struct{}, 1), over: make(chan struct{}),
	}
	to := l.within
	if !l.admit(c) {
		to, c.surplus = l.beyond, true
		l.reserve(c)
	}
	to.add(c)
}

// admit counts a connection within the caps, false when they are reached.
func (l *Listener) admit(c *conn) bool {
	counted := l.caps.Clients != nil && !l.caps.Clients.Trusts(peerOf(c.RemoteAddr().String()))
	if counted && !l.caps.Clients.Take(c.peer, 1) && !l.replace(c.peer) {
		l.tally.Add(AddressConnections)
		c.why = AddressConnections
		return false
	}
	l.mu.Lock()
	var old *conn
	full := l.caps.Connections > 0 && l.open >= l.caps.Connections
	if full {
		old = l.oldestIdle(func(*conn) bool { return true })
	}
	if full && old == nil {
		l.mu.Unlock()
		if counted {
			l.caps.Clients.Give(c.peer, 1)
		}
		l.tally.Add(Connections)
		c.why = Connections
		return false
	}
	l.open++
	c.counted = counted
	c.since = l.caps.Now()
	c.idle = l.idle.PushBack(c)
	l.mu.Unlock()
	if old != nil {
		l.tally.Add(Evicted)
		_ = old.Close() // the peer gets no answer on it
	}
	return true
}

// replace closes an idle connection of an address at its limit, and counts a new one instead, false
// when no connection is idle.
func (l *Listener) replace(peer netip.Addr) bool {
	l.mu.Lock()
	old := l.oldestIdle(func(c *conn) bool { return c.peer == peer })
	l.mu.Unlock()
	if old == nil {
		return false
	}
	l.tally.Add(Evicted)
	_ = old.Close() // the peer gets no answer on it
	return l.caps.Clients.Take(peer, 1)
}

// oldestIdle returns the longest idle connection that matches, nil if none is idle for idleGrace.
// The caller holds the lock.
func (l *Listener) oldestIdle(match func(*conn) bool) *conn {
	now, left := l.caps.Now(), search
	for at := l.idle.Front(); at != nil && left > 0; at, left = at.Next(), left-1 {
		c := at.Value.(*conn)
		if now.Sub(c.since) < idleGrace {
			return nil
		}
		if match(c) {
			return c
		}
	}
	return nil
}

// reserve adds a connection to the reserve. A full reserve closes its oldest connection. An address
// that holds half of the reserve loses its own oldest, so that it cannot displace the probes of
// others.
func (l *Listener) reserve(c *conn) {
	var old, own *conn
	l.mu.Lock()
	most, held := max(1, l.caps.Reserve), 0
	for at := l.reserved.Front(); at != nil; at = at.Next() {
		if other := at.Value.(*conn); other.peer == c.peer {
			if held++; held == 1 {
				own = other
			}
		}
	}
	switch {
	case held >= max(1, most/2):
		old = own
	case l.reserved.Len() >= most:
		old = l.reserved.Front().Value.(*conn)
	}
	c.idle = l.reserved.PushBack(c)
	l.mu.Unlock()
	if old != nil {
		_ = old.Close() // the peer gets no answer on it
	}
}

// State follows the state of a connection: it is the ConnState of the server of Within.
func (l *Listener) State(at net.Conn, state http.ConnState) {
	c := unwrap(at)
	if c == nil {
		return
	}
	c.active.Store(state == http.StateActive)
	switch state {
	case http.StateActive:
		c.restore()
		l.busy(c)
	case http.StateIdle:
		l.unproductive(c, l.caps.Now())
	}
}

// unproductive notes that a connection may make room for another.
func (l *Listener) unproductive(c *conn, since time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.gone || c.idle != nil || c.since.IsZero() { // closed, in the reserve, or noted already
		return
	}
	c.since = since
	at := l.idle.Back()
	for at != nil && at.Value.(*conn).since.After(since) {
		at = at.Prev()
	}
	if at == nil {
		c.idle = l.idle.PushFront(c)
		return
	}
	c.idle = l.idle.InsertAfter(c, at)
}

func (l *Listener) busy(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.idle != nil && !c.since.IsZero() {
		l.idle.Remove(c.idle)
		c.idle = nil
	}
}

func (l *Listener) closed(c *conn) {
	if c.counted {
		l.caps.Clients.Give(c.peer, 1)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	c.gone = true // the server may still report a state
	within := !c.since.IsZero()
	if within {
		l.open--
	}
	if c.idle == nil {
		return
	}
	if within {
		l.idle.Remove(c.idle)
	} else {
		l.reserved.Remove(c.idle)
	}
	c.idle = nil
}

// Open returns the number of connections within the caps.
func (l *Listener) Open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open
}

func (l *Listener) close() (err error) {
	l.closing.Do(func() {
		close(l.done)
		err = l.inner.Close()
		for _, p := range []*part{l.within, l.beyond} {
			p.end()
		}
	})
	return err
}
