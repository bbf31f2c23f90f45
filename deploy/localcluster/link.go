package main

import (
	"context"
	"io"
	"net"
	"sync"
	"time"
)

// link carries connections from one node to another, until it is cut.
type link struct {
	listener net.Listener

	mu      sync.Mutex
	changed *sync.Cond    // by hold and close
	target  string        // address; "" while it is unknown
	held    [2]bool       // by way: the link carries no bytes that way
	delay   time.Duration // of each piece of bytes
	conns   map[net.Conn]bool
	closed  bool
}

// way is a direction of a link.
type way int

const (
	there way = iota // from the node that connects
	back             // to the node that connects
)

// newLink makes a link that listens at a free port of an address.
func newLink(ctx context.Context, address string) (*link, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address+":0")
	if err != nil {
		return nil, err
	}
	l := &link{listener: listener, conns: map[net.Conn]bool{}}
	l.changed = sync.NewCond(&l.mu)
	go l.accept()
	return l, nil
}

func (l *link) address() string { return l.listener.Addr().String() }

// lead sets the address of the other node.
func (l *link) lead(target string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.target = target
}

// cut holds every byte from now on, both ways, and heal lets the held bytes go on.
func (l *link) cut(cut bool) {
	l.hold(there, cut)
	l.hold(back, cut)
}

// hold holds every byte that goes one way from now on, or lets the held bytes go on.
func (l *link) hold(w way, held bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held[w] = held
	l.changed.Broadcast()
}

// slow delays every piece of at most 64 KiB that a connection carries, both ways.
func (l *link) slow(delay time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delay = delay
}

func (l *link) close() {
	l.listener.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for conn := range l.conns {
		conn.Close()
	}
	l.changed.Broadcast()
}

// pass returns the address of the other node as soon as the link carries bytes that way or is closed.
func (l *link) pass(w way) (target string, closed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.held[w] && !l.closed {
		l.changed.Wait()
	}
	return l.target, l.closed
}

// keep makes close end the connection. It returns false if the link is closed.
func (l *link) keep(conn net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.conns[conn] = true
	}
	return !l.closed
}

func (l *link) drop(conn net.Conn) {
	conn.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, conn)
}

func (l *link) accept() {
	for {
		near, err := l.listener.Accept()
		if err != nil {
			return
		}
		if !l.keep(near) {
			near.Close()
			return
		}
		go l.join(near)
	}
}

// join connects an accepted connection with the other node, and carries bytes both ways until one side closes.
func (l *link) join(near net.Conn) {
	defer l.drop(near)
	target, closed := l.pass(there)
	if closed || target == "" {
		return
	}
	var dialer net.Dialer
	far, err := dialer.DialContext(context.Background(), "tcp", target)
	if err != nil || !l.keep(far) {
		return
	}
	defer l.drop(far)
	carry := func(to, from net.Conn, w way) {
		l.carry(to, from, w)
		near.Close()
		far.Close()
	}
	var carrying sync.WaitGroup
	carrying.Go(func() { carry(near, far, back) })
	carry(far, near, there)
	carrying.Wait()
}

// carry copies bytes while the link is not cut.
func (l *link) carry(to io.Writer, from io.Reader, w way) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			l.wait()
			if _, closed := l.pass(w); closed {
				return
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			l.pass(w) // the end of a connection does not cross a cut, either
			return
		}
	}
}

// wait waits for the delay of the link.
func (l *link) wait() {
	l.mu.Lock()
	delay := l.delay
	l.mu.Unlock()
	if delay > 0 {
		<-time.After(delay)
	}
}
