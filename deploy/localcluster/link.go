package main

import (
	"context"
	"io"
	"net"
	"sync"
)

// link carries connections from one node to another, until it is cut.
type link struct {
	listener net.Listener

	mu     sync.Mutex
	target string        // address; "" while it is unknown
	open   chan struct{} // closed while the link carries bytes
	conns  map[net.Conn]bool
	closed bool
}

func newLink(ctx context.Context) (*link, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &link{listener: listener, open: make(chan struct{}), conns: map[net.Conn]bool{}}
	close(l.open)
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

// cut holds every byte from now on, and heal lets the held bytes go on.
func (l *link) cut(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.open:
		if cut {
			l.open = make(chan struct{})
		}
	default:
		if !cut {
			close(l.open)
		}
	}
}

func (l *link) close() {
	l.listener.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for conn := range l.conns {
		conn.Close()
	}
	select {
	case <-l.open:
	default:
		close(l.open)
	}
}

// pass returns the address of the other node as soon as the link carries bytes.
func (l *link) pass() (target string, closed bool) {
	for {
		l.mu.Lock()
		open := l.open
		target, closed = l.target, l.closed
		l.mu.Unlock()
		select {
		case <-open:
			return target, closed
		default:
			<-open
		}
	}
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
	target, closed := l.pass()
	if closed || target == "" {
		return
	}
	var dialer net.Dialer
	far, err := dialer.DialContext(context.Background(), "tcp", target)
	if err != nil || !l.keep(far) {
		return
	}
	defer l.drop(far)
	back := make(chan struct{})
	go func() {
		defer close(back)
		l.carry(near, far)
		near.Close()
		far.Close()
	}()
	l.carry(far, near)
	near.Close()
	far.Close()
	<-back
}

// carry copies bytes while the link is not cut.
func (l *link) carry(to io.Writer, from io.Reader) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if _, closed := l.pass(); closed {
				return
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			l.pass() // the end of a connection does not cross a cut, either
			return
		}
	}
}
